export { eventCatalogueDomain } from "./domain.ts";
export { createAnnounce, FIRST_ATTEMPTS } from "./announce.ts";
export type { Announce, Announcement } from "./announce.ts";
export { bodyOf } from "./body.ts";
export {
  administrativeEventTypes,
  authEventTypes,
  EVENTS,
  isAuditEventType,
  isAuthEventType,
  webhookEventTypes,
} from "./catalogue.ts";
export type { AuditEventType, AuthEventType, WebhookEventType } from "./catalogue.ts";
export { bySystem, causedBy, causedByPerson, createEvents, withoutActor } from "./events.ts";
export type { Cause, EndedBy, Events, Occurrence } from "./events.ts";
export { wakeRetries, WEBHOOK_RETRY } from "./retries.ts";
export type { WebhookRetry } from "./retries.ts";
export type { DataOf, EventRow } from "./row.ts";
export { WEBHOOK_DESCRIPTIONS } from "./webhook-descriptions.ts";
export { dataSchemaOf, dataShapeOf, eventSchemaOf } from "./webhook-schemas.ts";
export type { JsonSchema } from "./webhook-schemas.ts";
export { endWebhooksOf, insertForWebhooks } from "./store.ts";
