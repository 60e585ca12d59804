export { webhooksDomain } from "./domain.ts";
export type { WebhookDeps } from "./deps.ts";
export { webhookEntities } from "./entities.ts";
export type { FirstAttempts } from "./first-attempts.ts";
export { openDeliveries } from "./queue-store.ts";
export type { OpenEndpoint } from "./queue-store.ts";
export { webhooksRpc } from "./rpc.ts";
export { createWebhooks } from "./webhooks.ts";
export type { Webhooks } from "./webhooks.ts";
