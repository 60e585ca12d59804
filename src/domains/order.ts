/**
 * Every domain, from the ground up. A domain imports only those before it, and of these only `index.ts`; the
 * composition builds them in this order (`src/app/domains.ts`), and `test/shape` checks the imports against it.
 */
export const DOMAIN_ORDER = [
  "audit-record",
  "event-catalogue",
  "organizations",
  "people",
  "signing-keys",
  "auth-events",
  "access",
  "rbac",
  "sessions",
  "webhooks",
  "credentials",
  "mfa",
  "step-up",
  "marketplace",
  "invitations",
  "offboarding",
  "login",
  "users",
  "operator",
] as const;

/** Name of a domain, of its folder and, with underscores, of its proto package. */
export type DomainName = (typeof DOMAIN_ORDER)[number];
