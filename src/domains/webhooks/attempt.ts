import { dateOf } from "../../platform/clock.ts";
import { isAway } from "../../platform/db/failure.ts";
import { retryAfterMs } from "../../platform/outgoing/delivery.ts";
import { signDelivery } from "../../platform/outgoing/signature.ts";
import { handleTraced } from "../../platform/tracing.ts";
import type { WebhookDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import { createFailureRecorder } from "./failure-recorder.ts";
import type { RetryBatch } from "./failure-recorder.ts";
import type { TakenDelivery } from "./places-store.ts";
import { createRecovery } from "./recovery.ts";
import type { AttemptRecord } from "./store.ts";
import { createSuccessRecorder } from "./success-recorder.ts";

/** Characters of a response, and of an error, that are kept. */
const MAX_RESPONSE = 2_048;
const MAX_ERROR = 500;

interface Outcome {
  ok: boolean;
  /** The endpoint responded with 410. */
  gone: boolean;
  /** `Retry-After`, milliseconds; 0: none. */
  retryAfterMs: number;
  record: AttemptRecord;
}

/** One attempt at a delivery, with the recording of its outcome. */
export function createAttempt(deps: WebhookDeps) {
  const { database, clock, log, sealer, outgoing, config } = deps;
  const recordSuccess = createSuccessRecorder(database);
  const recordFailure = createFailureRecorder(deps);
  const recover = createRecovery(deps);

  /** Opens a secret; undefined for one that was sealed with another key or for another webhook. */
  function opened(box: Buffer, webhookId: string): string | undefined {
    try {
      return sealer.open(box, secretContext(webhookId)).toString();
    } catch (err) {
      log.error({ err, webhook_id: webhookId }, "a signing secret of a webhook cannot be opened");
      return undefined;
    }
  }

  /** @throws {Error} when the present secret cannot be opened; a replaced one is left out instead */
  function secretsOf({ webhookId, secret, oldSecret, oldSecretExpiresAt }: TakenDelivery): string[] {
    const present = opened(secret, webhookId);
    if (present === undefined) throw new Error("The signing secret cannot be read; rotate the secret of the webhook.");
    const isOverlap = oldSecretExpiresAt !== null && oldSecretExpiresAt.getTime() > clock.now();
    const replaced = oldSecret !== null && isOverlap ? opened(oldSecret, webhookId) : undefined;
    return replaced === undefined ? [present] : [present, replaced];
  }

  async function post(delivery: TakenDelivery): Promise<Outcome> {
    const at = dateOf(clock);
    const begun = performance.now();
    try {
      const signature = signDelivery({
        id: delivery.eventId,
        timestamp: Math.floor(at.getTime() / 1000),
        body: delivery.body,
        secrets: secretsOf(delivery),
      });
      const response = await outgoing.request({
        method: "POST",
        url: delivery.url,
        headers: { "content-type": "application/json", ...signature },
        body: delivery.body,
        timeoutMs: config.timeoutMs,
      });
      const text = response.body.toString("utf8").replaceAll("\0", "\uFFFD").slice(0, MAX_RESPONSE).toWellFormed();
      return {
        ok: response.status >= 200 && response.status < 300,
        gone: response.status === 410,
        retryAfterMs: retryAfterMs(response.headers["retry-after"], clock.now()),
        record: {
          at: at.toISOString(),
          status_code: response.status,
          error: null,
          duration_ms: Math.round(response.durationMs),
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
          error: message.replaceAll("\0", "\uFFFD").slice(0, MAX_ERROR).toWellFormed(),
          duration_ms: Math.round(performance.now() - begun),
          response: null,
        },
      };
    }
  }

  async function succeed(delivery: TakenDelivery, record: AttemptRecord, batch: RetryBatch | undefined): Promise<void> {
    if (batch !== undefined) batch.hasSuccess = true;
    if (await recordSuccess(delivery.deliveryId, record)) await recover(delivery.webhookId, batch);
  }

  return {
    /**
     * Sends a leased delivery and records the outcome. Never rejects: an attempt whose outcome cannot be recorded is
     * repeated when its lease expires. `onResponse` is called when the endpoint has responded, before the outcome is
     * recorded. `batch` is set for retries.
     */
    async attempt(
      delivery: TakenDelivery,
      onResponse: (ok: boolean) => void = () => undefined,
      batch?: RetryBatch,
    ): Promise<boolean> {
      batch?.attempted.add(delivery.deliveryId);
      try {
        return await handleTraced("webhook delivery", delivery.traceparent, async () => {
          const outcome = await post(delivery);
          onResponse(outcome.ok);
          const { deliveryId, generation, tries, url } = delivery;
          await (outcome.ok
            ? succeed(delivery, outcome.record, batch)
            : recordFailure(delivery.webhookId, { deliveryId, generation, tries, url, batch, ...outcome }));
          return outcome.ok;
        });
      } catch (error) {
        // While the database is away the process says so once.
        log[isAway(error) ? "debug" : "warn"](
          { err: error, delivery_id: delivery.deliveryId },
          "the outcome of a delivery could not be recorded; the attempt is repeated",
        );
        return false;
      }
    },
  };
}

/** Attempts, for the poller of first attempts and the retry activities. */
export type Attempt = ReturnType<typeof createAttempt>;
