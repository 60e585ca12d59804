import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

const devices = `
  -- Accounts that a person (holder) added on a device. session_uuid: the session whose token was the proof; the account
  -- can be switched to while that session is live. active: the account in use there; when none is, the login's own is.
  create table device_accounts (
    uuid uuid primary key,
    device_uuid uuid not null,
    holder_uuid uuid not null references people (uuid),
    session_uuid uuid not null references sessions (uuid) on delete cascade,
    user_uuid uuid not null references people (uuid),
    org_uuid uuid references organizations (uuid),
    active boolean not null default false,
    added_at timestamptz(3) not null,
    last_used_at timestamptz(3) not null,
    unique nulls not distinct (device_uuid, holder_uuid, user_uuid, org_uuid)
  );
  create index device_accounts_session on device_accounts (session_uuid);

  -- The account a session was opened for by switching: it ends when the account is removed.
  alter table sessions add column account_uuid uuid;
  create index sessions_account on sessions (account_uuid) where account_uuid is not null;
`;

const codes = `
  -- One live code for each address and app. hash: HMAC of the code; key: of that HMAC, sealed with the instance key.
  create table one_time_codes (
    email_key text not null,
    app_uuid uuid,
    email text not null,
    key bytea not null,
    hash bytea not null,
    failures integer not null default 0,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    unique nulls not distinct (email_key, app_uuid)
  );
  create index one_time_codes_expiry on one_time_codes (expires_at);
`;

const delays = `
  -- Consecutive failures that are answered by growing delays. Times are milliseconds of the service's clock.
  create unlogged table rate_delays (
    id bytea primary key,
    failures integer not null,
    free_ms bigint not null,
    forget_ms bigint not null
  );
  create index rate_delays_forget on rate_delays (forget_ms);
`;

/** Accounts of devices, one-time codes, delays after failures. */
export const devicesAndCodes = defineMigration("0008-devices", [
  devices,
  codes,
  delays,
  grantApp("device_accounts", "one_time_codes", "rate_delays"),
]);
