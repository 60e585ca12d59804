import { dateOf } from "../../platform/clock.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import type { Attempt } from "./attempt.ts";
import type { WebhookDeps } from "./deps.ts";
import * as queue from "./queue-store.ts";
import type { TakenDelivery } from "./queue-store.ts";
import { ATTEMPT_SLACK_MS } from "./rules.ts";

/** First attempts at once, over all endpoints and for one. */
const CONCURRENCY = 64;
const PER_ENDPOINT = 8;
const POLL_MS = 1_000;

/** Makes first attempts: at every nudge, and every second as the safety net. */
export function createPump(deps: Pick<WebhookDeps, "database" | "clock" | "log" | "config">, { attempt }: Attempt) {
  const { database, clock, log, config } = deps;
  const running = new Map<string, number>();
  const work = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let again = false;
  let looking: Promise<void> | undefined;
  let stopped = true;

  function begin(delivery: TakenDelivery): void {
    running.set(delivery.webhook_id, (running.get(delivery.webhook_id) ?? 0) + 1);
    const done = attempt(delivery).then(() => {
      const left = (running.get(delivery.webhook_id) ?? 1) - 1;
      if (left === 0) running.delete(delivery.webhook_id);
      else running.set(delivery.webhook_id, left);
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
        const taken = await queue.takeFirst(database, dateOf(clock), dateOf(clock, config.timeoutMs + ATTEMPT_SLACK_MS), free, PER_ENDPOINT, running);
        taken.forEach(begin);
      } catch (error) {
        log.debug({ err: error }, "due deliveries could not be read; tried again at the next poll");
      }
    }
  }

  function look(): void {
    if (stopped) return;
    again = true;
    looking ??= lookWhileAsked().finally(() => {
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
    nudge: () => withoutTrace(look),
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
