import { dateOf } from "../../platform/clock.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import type { Attempt } from "./attempt.ts";
import type { WebhookDeps } from "./deps.ts";
import { createPace } from "./pace.ts";
import * as queue from "./queue-store.ts";
import type { TakenDelivery } from "./queue-store.ts";
import { ATTEMPT_SLACK_MS } from "./rules.ts";

/** First attempts at once that are not met with silence, and in all. */
const CONCURRENCY = 256;
const MOST = 1_000;
const POLL_MS = 1_000;

/** Makes first attempts: at every nudge, and every second as the safety net. */
export function createPump(deps: Pick<WebhookDeps, "database" | "clock" | "log" | "config">, { attempt }: Attempt) {
  const { database, clock, log, config } = deps;
  const pace = createPace();
  const work = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let again = false;
  let looking: Promise<void> | undefined;
  let stopped = true;

  function begin(delivery: TakenDelivery): void {
    const post = pace.begin(delivery.webhook_id);
    const answered = (ok: boolean): void => {
      pace.answered(post, ok);
      look();
    };
    const done = attempt(delivery, answered).then((ok) => {
      work.delete(done);
      answered(ok);
    });
    work.add(done);
  }

  async function lookWhileAsked(): Promise<void> {
    while (again && !stopped) {
      again = false;
      const free = Math.min(CONCURRENCY + pace.silent(), MOST) - work.size;
      if (free <= 0) return;
      try {
        const taken = await queue.takeFirst(database, dateOf(clock), dateOf(clock, config.timeoutMs + ATTEMPT_SLACK_MS), free, pace.allowances());
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
