import type { WebhookEventData } from "../../../../gen/webhook-events.ts";

export type { WebhookEventData };

/** Type of an event. */
export type WebhookEventType = keyof WebhookEventData;

/** What a webhook receives, by its `type`. */
export type WebhookEvent = {
  [Type in WebhookEventType]: {
    type: Type;
    /** When it happened, RFC 3339. */
    timestamp: string;
    /** The same in every attempt: what is received twice has the id of the first. */
    id: string;
    org_uuid: string;
    data: WebhookEventData[Type];
  };
}[WebhookEventType];
