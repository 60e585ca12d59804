import { dateOf } from "../../platform/clock.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import type { Attempt } from "./attempt.ts";
import type { WebhookDeps } from "./deps.ts";
import * as queue from "./queue-store.ts";
import type { TakenDelivery } from "./queue-store.ts";
import { ATTEMPT_SLACK_MS } from "./rules.ts";

/**
 * First attempts at once, over all endpoints and for one. An endpoint begins with one, gets one more with every success
 * and falls back to one with a failure: those that never answer hold a place each, and no more.
 */
const CONCURRENCY = 256;
const PER_ENDPOINT = 16;
/** Endpoints whose pace is remembered. */
const REMEMBERED = 256;
const POLL_MS = 1_000;

/** Makes first attempts: at every nudge, and every second as the safety net. */
export function createPump(deps: Pick<WebhookDeps, "database" | "clock" | "log" | "config">, { attempt }: Attempt) {
  const { database, clock, log, config } = deps;
  /** Posts in flight by endpoint. */
  const running = new Map<string, number>();
  /** How many at once an endpoint has earned, where that is more than one. */
  const pace = new Map<string, number>();
  const work = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let again = false;
  let looking: Promise<void> | undefined;
  let stopped = true;

  /** Remembers how many at once an endpoint has earned; those heard of longest ago are forgotten first. */
  function learn(webhookId: string, ok: boolean): void {
    const next = ok ? Math.min((pace.get(webhookId) ?? 1) + 1, PER_ENDPOINT) : 1;
    pace.delete(webhookId);
    if (next > 1) pace.set(webhookId, next);
    if (pace.size > REMEMBERED) pace.delete(pace.keys().next().value ?? "");
  }

  /** What each endpoint of which something is known may begin now; every other may begin one. */
  function allowances(): Map<string, number> {
    const known = new Set([...pace.keys(), ...running.keys()]);
    return new Map([...known].map((webhookId) => [webhookId, (pace.get(webhookId) ?? 1) - (running.get(webhookId) ?? 0)]));
  }

  function answered(webhookId: string, ok: boolean): void {
    const left = (running.get(webhookId) ?? 1) - 1;
    learn(webhookId, ok);
    if (left === 0) running.delete(webhookId);
    else running.set(webhookId, left);
    look();
  }

  function begin(delivery: TakenDelivery): void {
    const { webhook_id: webhookId } = delivery;
    running.set(webhookId, (running.get(webhookId) ?? 0) + 1);
    let isAnswered = false;
    const free = (ok: boolean): void => {
      if (!isAnswered) answered(webhookId, ok);
      isAnswered = true;
    };
    const done = attempt(delivery, free).then((ok) => {
      free(ok);
      work.delete(done);
      look();
    });
    work.add(done);
  }

  async function lookWhileAsked(): Promise<void> {
    while (again && !stopped) {
      again = false;
      const free = CONCURRENCY - work.size;
      if (free <= 0) return;
      try {
        const taken = await queue.takeFirst(database, dateOf(clock), dateOf(clock, config.timeoutMs + ATTEMPT_SLACK_MS), free, allowances());
        taken.forEach(begin);
      } catch (error) {
        log.debug({ err: error }, "due deliveries could not be read; tried again at the next poll");
      }
    }
  }

  function look(): void {
    if (stopped) return;
    again = true;
    // Whoever asks, in whatever trace: a look serves everybody.
    looking ??= withoutTrace(lookWhileAsked).finally(() => {
      looking = undefined;
    });
  }

  return {
    start(): void {
      stopped = false;
      timer = setInterval(look, POLL_MS);
      look();
    },
    /** Something is due: look now. */
    nudge: look,
    /** Deliveries in flight. */
    running: () => work.size,
    /** Takes nothing more; resolves when what is in flight is done or `graceMs` are over. */
    async stop(graceMs: number): Promise<void> {
      stopped = true;
      clearInterval(timer);
      let late: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        late = setTimeout(resolve, graceMs);
      });
      await Promise.race([Promise.all([looking, ...work]), patience]);
      clearTimeout(late);
    },
  };
}
