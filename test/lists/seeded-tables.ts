import { ago, email, few, hardly, mostly, oneOf, someOrganization, uuid } from "./seeded-values.ts";
import type { SeededTable } from "./seeded-values.ts";

/** Every table that a list reads and that grows. */
export const tables: Readonly<Record<string, SeededTable>> = {
  people: { like: "uuid = $user", differ: { uuid, email, email_key: email, username: "null", created_at: ago } },
  organizations: { like: "uuid = $org", differ: { uuid, name: "'Seeded ' || n", created_at: ago } },
  memberships: {
    like: "org_uuid = $org and user_uuid = $user",
    differ: {
      org_uuid: mostly("org_uuid"),
      user_uuid: uuid,
      is_owner: "false",
      email_key: email,
      status: oneOf("active", "active", "inactive", "removed"),
      created_at: ago,
    },
  },
  roles: { like: "org_uuid = $org", differ: { org_uuid: few("org_uuid"), name: "'seeded ' || n", created_at: ago } },
  invitations: {
    like: "org_uuid = $org",
    differ: {
      uuid,
      org_uuid: mostly("org_uuid"),
      token_hash: "decode(md5(n::text), 'hex')",
      email,
      email_key: email,
      created_at: ago,
    },
  },
  sessions: {
    like: "uuid = $session",
    differ: {
      uuid,
      user_uuid: few("user_uuid"),
      org_uuid: hardly("org_uuid"),
      device_uuid: few("device_uuid"),
      created_at: ago,
      revoked_at: `case when n % 2 = 0 then ${ago} end`,
    },
  },
  device_accounts: { like: "true", differ: { uuid, device_uuid: uuid, user_uuid: uuid, added_at: ago } },
  api_keys: { like: "org_uuid = $org", differ: { key_id: uuid, org_uuid: few("org_uuid"), created_at: ago } },
  scim_tokens: { like: "org_uuid = $org", differ: { token_id: uuid, org_uuid: few("org_uuid"), created_at: ago } },
  signing_keys: {
    like: "org_uuid = $org",
    differ: { kid: "'seeded' || n", org_uuid: few("org_uuid"), active: "false", valid_until: ago, created_at: ago },
  },
  mfa_factors: { like: "true", differ: { user_uuid: few("user_uuid"), created_at: ago } },
  audit_events: {
    like: "org_uuid = $org",
    differ: {
      event_id: uuid,
      org_uuid: mostly("org_uuid"),
      user_uuid: mostly("user_uuid"),
      type: oneOf("login.password", "login.magic_link", "session.revoked", "user.invited"),
      is_auth: "n % 3 > 0",
      outcome: oneOf("success", "success", "failure"),
      created_at: ago,
    },
  },
  apps: {
    like: "app_id = $app",
    differ: {
      app_id: uuid,
      org_uuid: `case when n % 10 = 0 then ${someOrganization} else t.org_uuid end`,
      slug: "'seeded-' || n",
      name: "'Seeded ' || n",
      status: oneOf("published", "published", "draft", "rejected", "archived"),
      published_at: ago,
      created_at: ago,
    },
  },
  app_admins: {
    like: "app_id = $app",
    differ: { grant_id: uuid, app_id: mostly("app_id"), user_uuid: uuid, created_at: ago },
  },
  app_listings: { like: "true", differ: { listing_id: uuid, app_id: mostly("app_id"), created_at: ago } },
  installs: {
    like: "install_id = $install",
    differ: {
      install_id: uuid,
      org_uuid: mostly("org_uuid"),
      app_id: "case when n % 7 > 2 then gen_random_uuid() else $app end",
      status: oneOf(
        "deprovisioned",
        "deprovisioned",
        "deprovisioned",
        "provisioning",
        "active",
        "suspended",
        "deprovisioning",
      ),
      step: "null",
      created_at: ago,
    },
  },
  install_timeline: { like: "true", differ: { install_id: uuid, at: ago } },
  cloud_targets: {
    like: "true",
    differ: {
      target_id: uuid,
      install_id: uuid,
      org_uuid: mostly("org_uuid"),
      status: oneOf("active", "revoked"),
      created_at: ago,
    },
  },
  webhooks: {
    like: "org_uuid = $org",
    differ: {
      webhook_id: uuid,
      org_uuid: few("org_uuid"),
      scope: "case when n % 5 = 0 then 'app' else 'org' end",
      app_id: "case when n = 5 then $app when n % 5 = 0 then gen_random_uuid() end",
      created_at: ago,
    },
  },
  webhook_events: { like: "true", differ: { event_id: "'evt_seeded' || n", created_at: ago } },
  webhook_deliveries: {
    like: "webhook_id = $webhook",
    differ: {
      delivery_id: uuid,
      event_id: "'evt_seeded' || n",
      webhook_id: mostly("webhook_id"),
      status: oneOf("delivered", "failed", "pending"),
      created_at: ago,
    },
  },
  webhook_tallies: {
    like: "true",
    model: "insert into webhook_tallies values ($webhook, date_trunc('hour', now()), 1, 0)",
    differ: { webhook_id: uuid },
  },
  install_calls: {
    like: "true",
    model: `insert into install_calls (install_id, at, type, url, duration_ms, request_body)
      values ($install, now(), 'provision', 'https://publisher.test/', 5, '{}')`,
    differ: { install_id: few("install_id"), at: ago },
  },
  organization_settings: {
    like: "true",
    model: "insert into organization_settings (org_uuid, audit_retention_days, updated_at) values ($org, 90, now())",
    differ: { org_uuid: uuid },
  },
  membership_counts: { like: "true", differ: { org_uuid: uuid } },
  role_permissions: { like: "true", differ: { role_id: "1000000 + n" } },
  audit_counts: {
    like: "true",
    model: `insert into audit_counts (org_key, user_key, level, bucket, type, outcome, events)
      values ($org, $user, 0, to_timestamp(0), 'login.password', 'success', 1)`,
    differ: { org_key: uuid },
  },
  signing_key_uses: {
    like: "true",
    model: "insert into signing_key_uses (kid, until) values ('seeded', now())",
    differ: { kid: "'seeded' || n", until: ago },
  },
  mfa_recovery_codes: {
    like: "true",
    model: "insert into mfa_recovery_codes (user_uuid, hash, created_at) values ($user, '', now())",
    differ: { user_uuid: few("user_uuid"), hash: "decode(md5(n::text), 'hex')" },
  },
  rate_windows: {
    like: "true",
    model: "insert into rate_windows (id, hits, empty_ms) values ('', '{}', 0)",
    differ: { id: "decode(md5(n::text), 'hex')" },
  },
  scim_users: {
    like: "org_uuid = $org",
    differ: {
      org_uuid: mostly("org_uuid"),
      user_uuid: uuid,
      user_name: "'seeded' || n",
      external_id: "'external' || n",
      created_at: ago,
      updated_at: ago,
    },
  },
  scim_groups: {
    like: "org_uuid = $org",
    differ: { group_uuid: uuid, org_uuid: few("org_uuid"), display_name: "'seeded' || n", created_at: ago },
  },
  scim_members: {
    like: "true",
    model: `insert into scim_members (group_uuid, user_uuid, org_uuid)
      select group_uuid, $user, org_uuid from scim_groups where org_uuid = $org limit 1`,
    differ: { group_uuid: hardly("group_uuid"), user_uuid: uuid },
  },
  service_identities: {
    like: "org_uuid = $org",
    differ: { identity_id: uuid, org_uuid: mostly("org_uuid"), name: "'seeded ' || n", created_at: ago },
  },
  automation_tokens: {
    like: "org_uuid = $org",
    differ: {
      token_id: uuid,
      org_uuid: mostly("org_uuid"),
      identity_id: mostly("identity_id"),
      created_at: ago,
      revoked_at: `case when n % 2 = 0 then ${ago} end`,
    },
  },
  svids: {
    like: "org_uuid = $org",
    differ: {
      svid_id: uuid,
      org_uuid: mostly("org_uuid"),
      identity_id: mostly("identity_id"),
      serial: "'seeded' || n",
      created_at: ago,
      not_after: `t.not_after - (n % 2) * interval '30 days'`,
      revoked_at: `case when n % 4 = 0 then ${ago} end`,
    },
  },
  mtls_cas: { like: "org_uuid = $org", differ: { ca_uuid: uuid, org_uuid: uuid, created_at: ago } },
  mtls_certificates: {
    like: "org_uuid = $org",
    differ: {
      cert_uuid: uuid,
      ca_uuid: mostly("ca_uuid"),
      org_uuid: mostly("org_uuid"),
      serial: "'seeded' || n",
      common_name: "'seeded ' || n",
      created_at: ago,
      not_after: `t.not_after - (n % 1000) * interval '1 day'`,
      revoked_at: `case when n % 4 = 0 then ${ago} end`,
    },
  },
  vault_secrets: {
    like: "org_uuid = $org",
    differ: {
      org_uuid: mostly("org_uuid"),
      name: "'seeded-' || n",
      deleted_at: `case when n % 4 = 0 then ${ago} end`,
      restorable_until: "case when n % 4 = 0 then now() end",
    },
  },
  vault_versions: { like: "true", differ: { secret_id: mostly("secret_id", "1000000 + n"), version: "n + 1" } },
  oidc_connections: { like: "org_uuid = $org", differ: { uuid, org_uuid: few("org_uuid"), created_at: ago } },
  custom_variables: {
    like: "org_uuid = $org",
    differ: {
      org_uuid: few("org_uuid"),
      owner_uuid: "case when n % 2 = 0 then $user end",
      key: "'seeded' || n",
      created_at: ago,
    },
  },
  templates: { like: "org_uuid = $org", differ: { id: uuid, org_uuid: few("org_uuid"), created_at: ago } },
  mcp_servers: {
    like: "org_uuid = $org",
    differ: { id: uuid, org_uuid: few("org_uuid"), name: "'seeded ' || n", created_at: ago },
  },
  prices: { like: "true", differ: { active: "n % 10 > 0", created_at: ago } },
  meters: {
    like: "org_uuid = $org",
    differ: { id: uuid, org_uuid: few("org_uuid"), event_name: "'seeded' || n", created_at: ago },
  },
  cards: {
    like: "org_uuid = $org",
    differ: { id: uuid, org_uuid: few("org_uuid"), external_id: "'seeded' || n", is_default: "false", created_at: ago },
  },
  subscriptions: {
    like: "org_uuid = $org",
    differ: {
      subscription_id: uuid,
      org_uuid: mostly("org_uuid"),
      quote_id: uuid,
      status: oneOf("canceled", "canceled", "active", "past_due"),
      created_at: ago,
    },
  },
  payments: {
    like: "true",
    model: `insert into payments
        (org_uuid, provider, external_id, quote_id, first, amount, currency, status, refunded_amount, created_at)
      select org_uuid, provider, external_id, quote_id, true, 100, 'usd', 'paid', 0, created_at from subscriptions
      where org_uuid = $org limit 1`,
    differ: {
      org_uuid: mostly("org_uuid"),
      external_id: "'seeded' || n",
      quote_id: uuid,
      status: oneOf("paid", "paid", "failed", "refunded"),
      created_at: ago,
    },
  },
  provider_events: {
    like: "true",
    model: `insert into provider_events (provider, event_id, type, occurred_at, received_at, ids, facts, body, reason)
      values ('stripe', 'evt', 'invoice.paid', now(), now(), '{}', '[]', '{}', 'unknown_purchase')`,
    differ: { event_id: "'seeded' || n", received_at: ago },
  },
};
