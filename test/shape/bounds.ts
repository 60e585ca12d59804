import type { Domains } from "../../src/domains/order.ts";

/** Names of a domain's tidy tasks. */
type TaskOf<Domain> = Domain extends { tidy: infer Tasks } ? keyof Tasks : never;
/** Name of a tidy task. */
type TidyTaskName = { [Name in keyof Domains]: TaskOf<Domains[Name]> }[keyof Domains] | "idempotency" | "limits";

/** Why a table does not grow without bound. */
export type Bound =
  /** A tidy task removes its rows once they have been over for this long. */
  | { purgedBy: TidyTaskName; after: string }
  /** Rows go with another table's, by a foreign key that cascades or in the statement that removes or limits those. */
  | { goesWith: string; atMost: string }
  /** At most so many rows of each of what customers have, who are what the platform is sized by. */
  | { eachOf: string; atMost: string }
  /** Its rows are work, which the background takes away as it does it. */
  | { workedOffBy: string }
  /** Its rows are the platform's own. */
  | { fixedBy: string };

/** Every table of the schema with its bound. A table that needs a new kind of bound needs a reason to be one. */
export const bounds: Readonly<Record<string, Bound>> = {
  // What customers are, and what is theirs for good.
  people: { eachOf: "person", atMost: "1" },
  organizations: { eachOf: "organization", atMost: "1, ended ones as well: names and logs refer to them" },
  organization_names: { eachOf: "organization", atMost: "each name it ever had, so that none is issued twice" },
  organization_settings: { eachOf: "organization", atMost: "1" },
  membership_counts: { eachOf: "organization", atMost: "1" },
  memberships: {
    eachOf: "person",
    atMost: "1 for each organization; removed ones stay, so that no sign-in restores them (decisions 3.6, 8.4)",
  },
  scim_users: { eachOf: "person", atMost: "1 for each organization that has them as a member or invited them" },
  scim_people: { eachOf: "person", atMost: "1" },
  scim_groups: { eachOf: "organization", atMost: "10,000" },
  scim_members: { goesWith: "scim_groups", atMost: "10,000" },
  roles: { eachOf: "organization", atMost: "1,000 of its own" },
  role_permissions: { goesWith: "roles", atMost: "the catalogue of permissions" },
  pictures: { eachOf: "person", atMost: "1" },
  spiffe_revocation_lists: { eachOf: "organization", atMost: "1" },
  mtls_cas: {
    purgedBy: "certificates",
    after: "deletion and its last certificate, but for the organization's last one",
  },
  mtls_certificates: { purgedBy: "certificates", after: "90 days from expiry" },
  mtls_crls: { goesWith: "mtls_cas", atMost: "1" },
  spiffe_roots: { eachOf: "organization", atMost: "1" },
  signing_keys: {
    purgedBy: "retiredKeys",
    after: "30 days from their overlap and the last they signed, the head of the audit log included",
  },

  ai_gateway_configs: { eachOf: "organization", atMost: "1" },
  ai_routing_configs: { eachOf: "organization", atMost: "1" },
  mcp_servers: { eachOf: "organization", atMost: "200" },

  templates: { eachOf: "organization", atMost: "1,000" },
  custom_variables: { eachOf: "person", atMost: "1,000 in each organization, and 1,000 global ones for each of these" },
  // The vault.
  vault_seal: { fixedBy: "1 row" },
  vault_unseal_shares: { fixedBy: "2, those entered before the one that completes a set" },
  vault_keyrings: { eachOf: "organization", atMost: "1" },
  vault_secrets: { eachOf: "organization", atMost: "those its administrators write; deleted ones by vaultNames" },
  vault_versions: { goesWith: "vault_secrets", atMost: "1 for each write, 60 a minute of each administrator" },

  // Billing.
  prices: { fixedBy: "what platform administrators make" },
  quotes: { purgedBy: "quotes", after: "30 days from expiry; paid ones are the record of what was bought" },
  meters: { eachOf: "organization", atMost: "1,000" },
  metered_events: { purgedBy: "meterEvents", after: "400 to 600 days, by partitions" },
  meter_periods: { goesWith: "metered_events", atMost: "1 for each partition" },
  meter_hours: { goesWith: "meters", atMost: "1 for each hour with an event" },
  meter_days: { goesWith: "meters", atMost: "1 for each day with an event" },

  checkouts: { goesWith: "quotes", atMost: "1" },
  provider_links: { goesWith: "quotes", atMost: "the ids of one purchase" },
  provider_events: { purgedBy: "providerEvents", after: "30 or 90 days; what was paid or paid back is kept for good" },
  subscriptions: { goesWith: "quotes", atMost: "1" },
  payments: { goesWith: "quotes", atMost: "1 for each period that was paid" },
  reconciliations: { purgedBy: "reconciliations", after: "30 days, and their end" },
  billing_customers: { eachOf: "organization", atMost: "2" },
  customer_organizations: { goesWith: "quotes", atMost: "1 for each customer that its events name" },
  provider_customers: { eachOf: "person", atMost: "2 in each organization" },
  cards: { eachOf: "person", atMost: "50 in each organization" },

  // The marketplace.
  apps: { eachOf: "organization", atMost: "200 drafts, and what the platform's administrators have decided on" },
  app_slugs: { goesWith: "apps", atMost: "1, so that no slug is issued twice" },
  app_admins: { eachOf: "app", atMost: "1 for each member of its organization" },
  app_listings: { eachOf: "app", atMost: "1 for each product and plan in another marketplace" },
  installs: {
    purgedBy: "endedInstalls",
    after: "800 days from their end, but for the latest of each organization and app, and what was quoted or paid",
  },
  install_timeline: { goesWith: "installs", atMost: "200, the newest, and the few that statistics count" },
  install_calls: { goesWith: "installs", atMost: "50, the newest" },
  cloud_targets: { goesWith: "installs", atMost: "1" },

  // Sign-in and credentials.
  sessions: { purgedBy: "sessions", after: "30 days from their end" },
  refresh_tokens: { goesWith: "sessions", atMost: "one for each refresh of a session, whose rate is limited" },
  device_accounts: { goesWith: "sessions", atMost: "10 for each holder and device" },
  liveness_changes: { purgedBy: "livenessChanges", after: "1 hour" },
  mail_tokens: { purgedBy: "mailedTokens", after: "1 day from expiry" },
  one_time_codes: { purgedBy: "mailedTokens", after: "1 day from expiry" },
  disown_tokens: { purgedBy: "mailedTokens", after: "1 day from expiry" },
  invitations: { purgedBy: "invitations", after: "30 days from expiry, whatever became of them" },
  mfa_factors: { purgedBy: "secondFactors", after: "90 days from being disabled" },
  mfa_failures: { eachOf: "person", atMost: "2" },
  mfa_recovery_keys: { eachOf: "person", atMost: "1" },
  mfa_recovery_codes: { eachOf: "person", atMost: "one generation" },
  mfa_tokens: { purgedBy: "secondFactors", after: "expiry" },
  step_up_challenges: { purgedBy: "stepUpChallenges", after: "1 day from expiry" },
  api_keys: { purgedBy: "credentials", after: "30 days from revocation or expiry" },
  scim_tokens: { purgedBy: "credentials", after: "30 days from revocation or expiry" },
  service_identities: {
    eachOf: "organization",
    atMost: "those its administrators name; deleted ones for 30 days from the end of their last credential",
  },
  automation_tokens: { purgedBy: "serviceIdentities", after: "30 days from revocation or expiry" },
  svids: { purgedBy: "serviceIdentities", after: "30 days from expiry" },
  signing_key_uses: { purgedBy: "signatures", after: "the end of what was signed" },

  // Single sign-on.
  oidc_connections: { eachOf: "organization", atMost: "20" },
  oidc_identities: { eachOf: "person", atMost: "1 for each connection" },
  oidc_states: { purgedBy: "oidcSignIns", after: "1 day from expiry" },
  oidc_session_tokens: { purgedBy: "oidcSignIns", after: "1 day from expiry" },
  oidc_logouts: { purgedBy: "oidcSignIns", after: "1 day from expiry" },
  oidc_sessions: { goesWith: "sessions", atMost: "1" },

  // Webhooks.
  webhooks: { purgedBy: "webhookEvents", after: "30 days from their end; 1,000 live ones for each organization" },
  webhook_events: { purgedBy: "webhookEvents", after: "30 days" },
  webhook_watches: { purgedBy: "webhookEvents", after: "10 minutes from their end" },
  webhook_changes: { purgedBy: "webhookEvents", after: "10 minutes" },
  webhook_deliveries: { purgedBy: "webhookEvents", after: "30 days" },
  webhook_tallies: { purgedBy: "webhookEvents", after: "30 days" },

  // The audit log.
  audit_events: { purgedBy: "auditEvents", after: "the organization's retention, 90 to 365 days" },
  audit_counts: { goesWith: "audit_events", atMost: "1 for each; counts that fall to 0 are removed" },
  audit_pending: { workedOffBy: "the linker of the hash chain" },
  audit_heads: { eachOf: "organization", atMost: "1" },
  audit_links: {
    eachOf: "organization",
    atMost: "1 hash for each event ever, by which a purged log stays provable (decisions 5.3)",
  },

  // The platform itself.
  outbox: { workedOffBy: "the dispatcher, which drops what expired" },
  idempotency_records: { purgedBy: "idempotency", after: "24 hours" },
  open_streams: { purgedBy: "limits", after: "the end of the instances that served them; else with its last stream" },
  rate_buckets: { purgedBy: "limits", after: "being full again" },
  rate_windows: { purgedBy: "limits", after: "being empty" },
  rate_delays: { purgedBy: "limits", after: "the time failures are remembered for" },
  development_mails: { fixedBy: "500, the newest" },
  listener_certificates: { fixedBy: "1 for each host that SERVICE_BASE_URL has named" },
  key_checks: { fixedBy: "instance keys the operator has used" },
  plans: { fixedBy: "what platform administrators make, at most 1,000" },
  permissions: { fixedBy: "migrations" },
  catalogue_size: { fixedBy: "1 row" },
  schema_migrations: { fixedBy: "migrations" },
};
