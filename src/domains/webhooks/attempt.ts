import { dateOf } from "../../platform/clock.ts";
import { retryAfterMs } from "../../platform/outgoing/delivery.ts";
import { signDelivery } from "../../platform/outgoing/signature.ts";
import { handleTraced } from "../../platform/tracing.ts";
import type { WebhookDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import { createFailing } from "./failing.ts";
import type { Turn } from "./failing.ts";
import { createNoting } from "./noting.ts";
import type { TakenDelivery } from "./places-store.ts";
import { createRecovering } from "./recovering.ts";
import type { AttemptRecord } from "./store.ts";

/** Characters of an answer that are kept. */
const KEPT_RESPONSE = 2_048;

interface Outcome {
  ok: boolean;
  gone: boolean;
  retryAfterMs: number;
  record: AttemptRecord;
}

/** One attempt to deliver, and what follows from it. */
export function createAttempt(deps: WebhookDeps) {
  const { database, clock, log, sealer, outgoing, config } = deps;
  const noteSuccess = createNoting(database);
  const recovered = createRecovering(deps);
  const noteFailure = createFailing(deps);

  function secretsOf(delivery: TakenDelivery): string[] {
    const context = secretContext(delivery.webhook_id);
    const old =
      delivery.old_secret !== null &&
      delivery.old_secret_expires_at !== null &&
      delivery.old_secret_expires_at.getTime() > clock.now()
        ? [delivery.old_secret]
        : [];
    return [delivery.secret, ...old].map((box) => sealer.open(box, context).toString());
  }

  async function post(delivery: TakenDelivery): Promise<Outcome> {
    const at = dateOf(clock);
    const signature = signDelivery({
      id: delivery.event_id,
      timestamp: Math.floor(at.getTime() / 1000),
      body: delivery.body,
      secrets: secretsOf(delivery),
    });
    const begun = performance.now();
    try {
      const answer = await outgoing.request({
        method: "POST",
        url: delivery.url,
        headers: { "content-type": "application/json", ...signature },
        body: delivery.body,
        timeoutMs: config.timeoutMs,
      });
      const text = answer.body.toString("utf8").replaceAll("\0", "\uFFFD").slice(0, KEPT_RESPONSE).toWellFormed();
      return {
        ok: answer.status >= 200 && answer.status < 300,
        gone: answer.status === 410,
        retryAfterMs: retryAfterMs(answer.headers["retry-after"], clock.now()),
        record: {
          at: at.toISOString(),
          status_code: answer.status,
          error: null,
          duration_ms: Math.round(answer.durationMs),
          response: text === "" ? null : text,
        },
      };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return {
        ok: false,
        gone: false,
        retryAfterMs: 0,
        record: {
          at: at.toISOString(),
          status_code: null,
          error: message.slice(0, 500),
          duration_ms: Math.round(performance.now() - begun),
          response: null,
        },
      };
    }
  }

  async function succeeded(delivery: TakenDelivery, record: AttemptRecord, turn: Turn | undefined): Promise<void> {
    if (turn !== undefined) turn.answered = true;
    if (await noteSuccess(delivery.delivery_id, record)) await recovered(delivery.webhook_id, turn);
  }

  return {
    /**
     * Posts a taken delivery and notes the outcome. Never rejects: what cannot be noted is tried again when its lease
     * ends. `answered` is called once the endpoint is done with it; `turn` is that of a retry.
     */
    async attempt(
      delivery: TakenDelivery,
      answered: (ok: boolean) => void = () => undefined,
      turn?: Turn,
    ): Promise<boolean> {
      turn?.attempted.add(delivery.delivery_id);
      try {
        return await handleTraced("webhook delivery", delivery.traceparent, async () => {
          const outcome = await post(delivery);
          answered(outcome.ok);
          await (outcome.ok
            ? succeeded(delivery, outcome.record, turn)
            : noteFailure(delivery.webhook_id, {
                deliveryId: delivery.delivery_id,
                generation: delivery.generation,
                tries: delivery.tries,
                turn,
                ...outcome,
              }));
          return outcome.ok;
        });
      } catch (error) {
        log.warn(
          { err: error, delivery_id: delivery.delivery_id },
          "the outcome of a delivery could not be noted; it is tried again",
        );
        return false;
      }
    },
  };
}

/** Attempts, for the poller of first attempts and the retry activities. */
export type Attempt = ReturnType<typeof createAttempt>;
