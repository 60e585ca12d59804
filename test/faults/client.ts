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

/** A client that repeats requests until they have a response; creating ones under one Idempotency-Key. */
export function stubbornClient(urls: readonly string[]) {
  let turn = 0;
  /** Every attempt goes to the next instance. */
  const url = (): string => urls[turn++ % urls.length] ?? "";
  const trouble: Trouble = { unavailable: 0, withoutRetryAfter: 0, lost: 0, faults: [], longestMs: 0 };

  async function insist(attempt: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const since = Date.now();
      try {
        const answer = await attempt();
        trouble.longestMs = Math.max(trouble.longestMs, Date.now() - since);
        if (answer.status < 500) return answer;
        if (answer.status === 503) {
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
