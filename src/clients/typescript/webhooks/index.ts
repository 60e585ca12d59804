export * from "../../../../gen/atrium/webhooks/v1/index.ts";
export type { WebhookEvent, WebhookEventData, WebhookEventType } from "./events.ts";
export { verifyWebhook, WebhookRefusal } from "./verify.ts";
export type { ReceivedHeaders, ReceivedWebhook } from "./verify.ts";
