import { ADMINISTRATIVE_EVENTS, WEBHOOK_EVENTS } from "./administrative-events.ts";
import { AUTHENTICATION_EVENTS } from "./authentication-events.ts";

/**
 * Every event of the service, one row each: what the audit log and the webhooks call it, and what it carries. A row is
 * named by its type in the audit log, or, where several share that, by the more precise one webhooks receive.
 */
export const EVENTS = { ...AUTHENTICATION_EVENTS, ...ADMINISTRATIVE_EVENTS, ...WEBHOOK_EVENTS } as const;

type Rows = (typeof EVENTS)[keyof typeof EVENTS];
/** Type of an event in the audit log. */
export type AuditEventType = Exclude<Rows["audit"], null>;
/** Type of an authentication event. */
export type AuthEventType = (typeof AUTHENTICATION_EVENTS)[keyof typeof AUTHENTICATION_EVENTS]["audit"];
/** Type of an event that webhooks receive (decisions 11.6). */
export type WebhookEventType = Exclude<Rows["webhook"], null>;

/** Types of authentication events, in the contract's order. */
export const authEventTypes: readonly AuthEventType[] = [
  ...new Set(Object.values(AUTHENTICATION_EVENTS).map(({ audit }) => audit)),
];
/** Types of administrative events, which only an organization's log shows, in the contract's order. */
export const administrativeEventTypes: readonly AuditEventType[] = [
  ...new Set(Object.values(ADMINISTRATIVE_EVENTS).map(({ audit }) => audit)),
];
/** Types of events that webhooks receive. */
export const webhookEventTypes: readonly WebhookEventType[] = [
  ...new Set(Object.values(EVENTS).flatMap(({ webhook }) => webhook ?? [])),
];

const authentication: ReadonlySet<string> = new Set(authEventTypes);
const administrative: ReadonlySet<string> = new Set(administrativeEventTypes);

/** Whether `type` is an authentication event. */
export function isAuthEventType(type: string): type is AuthEventType {
  return authentication.has(type);
}

/** Whether `type` is an event of an organization's log. */
export function isAuditEventType(type: string): type is AuditEventType {
  return authentication.has(type) || administrative.has(type);
}
