export { eventCatalogueDomain } from "./domain.ts";
export { FIRST_ATTEMPTS } from "./announce.ts";
export { bodyOf } from "./body.ts";
export {
  administrativeEventTypes,
  authEventTypes,
  EVENTS,
  isAuditEventType,
  isAuthEventType,
  webhookEventTypes,
} from "./catalogue.ts";
export type { WebhookEventType } from "./catalogue.ts";
export { bySystem, causedBy, causedByPerson, createEvents, withoutActor } from "./events.ts";
export type { Cause, EndedBy, Events } from "./events.ts";
export { wakeRetries, WEBHOOK_RETRY } from "./retries.ts";
export type { DataOf } from "./row.ts";
export { WEBHOOK_DESCRIPTIONS } from "./webhook-descriptions.ts";
export { dataSchemaOf, dataShapeOf, eventSchemaOf } from "./webhook-schemas.ts";
export type { JsonSchema } from "./webhook-schemas.ts";
export { endWebhooksOf, insertForWebhooks, lockWebhooksForEnd, webhooksLock } from "./store.ts";
