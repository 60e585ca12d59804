import type { Tx } from "../../platform/db/types.ts";

/** Outbox topic: an endpoint has deliveries to retry. Payload: {@link WebhookRetry}. */
export const WEBHOOK_RETRY = "webhook.retry";

/** Payload of {@link WEBHOOK_RETRY}. */
export interface WebhookRetry {
  webhook_id: string;
}

/** Requests a run of an endpoint's retry workflow. */
export function wakeRetries(tx: Tx, webhookId: string): Promise<void> {
  return tx.emit({ topic: WEBHOOK_RETRY, payload: { webhook_id: webhookId } });
}
