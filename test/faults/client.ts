import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { signDelivery } from "../../src/platform/outgoing/signature.ts";
import { callRest } from "../support/app.ts";
import type { Answer } from "../support/app.ts";

/** Failures that a retrying client met. */
export interface Trouble {
  /** Responses of 503, and how many of them had no `Retry-After`. */
  unavailable: number;
  withoutRetryAfter: number;
  /** Connections refused or lost. */
  lost: number;
  /** Other responses of 500 and above, as texts. */
  faults: string[];
  /** Longest wait for any response, milliseconds. */
  longestMs: number;
}

/** How long a request that an instance gave up may hold its Idempotency-Key, milliseconds. */
const LEASE_MS = 60_000;

/** A client that repeats requests until they have a response; creating ones under one Idempotency-Key. */
export function stubbornClient(urls: readonly string[]) {
  let turn = 0;
  /** Every attempt goes to the next instance. */
  const url = (): string => urls[turn++ % urls.length] ?? "";
  const trouble: Trouble = { unavailable: 0, withoutRetryAfter: 0, lost: 0, faults: [], longestMs: 0 };

  async function insist(attempt: () => Promise<Answer>): Promise<Answer> {
    // Until when an instance that returned 503, as its time for the request was up, may hold the Idempotency-Key.
    let mayRunUntil = 0;
    for (;;) {
      const since = Date.now();
      try {
        const answer = await attempt();
        trouble.longestMs = Math.max(trouble.longestMs, Date.now() - since);
        const isRunning = answer.status === 409 && answer.body?.code === "conflict" && since < mayRunUntil;
        if (answer.status < 500 && !isRunning) return answer;
        if (answer.status === 503) {
          mayRunUntil = Date.now() + LEASE_MS;
          trouble.unavailable++;
          if (!answer.headers.has("retry-after")) trouble.withoutRetryAfter++;
        } else if (answer.status >= 500) {
          trouble.faults.push(answer.text.slice(0, 300));
        }
      } catch {
        trouble.lost++;
      }
      await sleep(200);
    }
  }

  return {
    trouble,
    call(method: string, path: string, token?: string, body?: unknown): Promise<Answer> {
      const headers: Record<string, string> =
        method === "POST" && token !== undefined ? { "idempotency-key": randomUUID() } : {};
      return insist(() => callRest(url(), method, path, { token, headers, ...(body === undefined ? {} : { body }) }));
    },
    /** A publisher's report, signed anew for each attempt. */
    report(callback: string, secret: string, body: unknown): Promise<Answer> {
      const text = JSON.stringify(body);
      const path = new URL(callback).pathname;
      return insist(() =>
        callRest(url(), "POST", path, {
          body: text,
          headers: {
            ...signDelivery({
              id: `msg_${randomUUID()}`,
              timestamp: Math.floor(Date.now() / 1000),
              body: text,
              secrets: [secret],
            }),
          },
        }),
      );
    },
  };
}

/** A client as {@link stubbornClient} makes it. */
export type StubbornClient = ReturnType<typeof stubbornClient>;
