import { databaseTime } from "../../platform/db/time.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import type { Attempt } from "./attempt.ts";
import { createClearing } from "./clearing.ts";
import type { WebhookDeps } from "./deps.ts";
import { createPace } from "./pace.ts";
import { takeFirst } from "./places-store.ts";
import type { TakenDelivery } from "./places-store.ts";
import { ATTEMPT_SLACK_MS } from "./rules.ts";

const POLL_MS = 500;

/**
 * Makes first attempts: at every nudge, and twice a second as the safety net. Works off what ended webhooks leave
 * besides.
 */
export function createPump(
  { database, clock, log, config }: Pick<WebhookDeps, "database" | "clock" | "log" | "config">,
  { attempt }: Attempt,
) {
  const pace = createPace();
  const clearing = createClearing({ database: database, log });
  const work = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let again = false;
  /** Where the present walk over the endpoints goes on; null at its start. */
  let at: string | null = null;
  let looking: Promise<void> | undefined;
  let stopped = true;

  function begin(delivery: TakenDelivery): void {
    const post = pace.begin({ webhookId: delivery.webhook_id, orgUuid: delivery.org_uuid, host: delivery.host });
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
    while ((again || at !== null) && !stopped) {
      const { active, silent } = pace.counts();
      const shares = pace.shares(work.size - active - silent);
      if (shares.free.active <= 0 || shares.free.quick <= 0) return;
      if (at === null) again = false;
      try {
        const { taken, next } = await takeFirst(
          database,
          databaseTime(clock),
          config.timeoutMs + ATTEMPT_SLACK_MS,
          at,
          shares,
        );
        taken.forEach(begin);
        at = next;
      } catch (error) {
        log.debug({ err: error }, "due deliveries could not be read; tried again at the next poll");
        return;
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

  function poll(): void {
    look();
    clearing.look();
  }

  return {
    start(): void {
      stopped = false;
      timer = setInterval(poll, POLL_MS);
      poll();
    },
    /** Something is due: look now. */
    nudge: look,
    /** Deliveries in flight. */
    running: () => work.size,
    /** Places in use, by what their posts are waiting for. */
    places: pace.counts,
    /** Takes nothing more; resolves when what is in flight is done or `graceMs` are over. */
    async stop(graceMs: number): Promise<void> {
      stopped = true;
      clearInterval(timer);
      let late: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        late = setTimeout(resolve, graceMs);
      });
      await Promise.race([Promise.all([looking, clearing.stop(), ...work]), patience]);
      clearTimeout(late);
    },
  };
}
