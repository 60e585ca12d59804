export { webhooksDomain } from "./domain.ts";
export type { FirstAttempts } from "./first-attempts.ts";
export { openDeliveries } from "./queue-store.ts";
export type { Webhooks } from "./webhooks.ts";
