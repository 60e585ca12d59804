import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

const proof = `
  -- When the second factor was last proven in this session; changes to factors demand a recent proof.
  alter table sessions add column second_factor_at timestamptz(3);
`;

const factors = `
  -- secret: sealed with the instance key, gone once the factor is disabled. last_step: the last time step whose
  -- code was accepted, for whatever purpose; only later ones are accepted after it.
  create table mfa_factors (
    id integer generated always as identity primary key,
    user_uuid uuid not null references people (uuid),
    factor_type text not null check (factor_type in ('totp')),
    label text,
    status text not null default 'pending' check (status in ('pending', 'active', 'disabled')),
    secret bytea,
    last_step integer,
    created_at timestamptz(3) not null,
    activated_at timestamptz(3),
    disabled_at timestamptz(3),
    check ((status = 'disabled') = (secret is null)),
    check ((status = 'disabled') = (disabled_at is not null)),
    check (status <> 'active' or activated_at is not null)
  );
  create index mfa_factors_user on mfa_factors (user_uuid, id) where status <> 'disabled';

  -- The key the present generation of somebody's recovery codes is hashed with, sealed with the instance key.
  create table mfa_recovery_keys (
    user_uuid uuid primary key references people (uuid),
    key bytea not null
  );
  create table mfa_recovery_codes (
    id integer generated always as identity primary key,
    user_uuid uuid not null references people (uuid),
    hash bytea not null,
    created_at timestamptz(3) not null,
    used_at timestamptz(3),
    unique (user_uuid, hash)
  );
`;

const proofs = `
  -- Consecutive failures of a person, one row for each budget. Nothing else resets them: no login, no restart.
  create table mfa_failures (
    user_uuid uuid not null references people (uuid),
    budget text not null check (budget in ('second_factor', 'step_up')),
    failures integer not null default 0,
    blocked_until timestamptz(3),
    primary key (user_uuid, budget)
  );

  -- Sign-ins that wait for the second factor. continuation: what the door still does once it is proven.
  create table mfa_tokens (
    hash bytea primary key,
    user_uuid uuid not null references people (uuid),
    org_uuid uuid references organizations (uuid),
    credentials_version integer not null,
    device_uuid uuid,
    amr text[] not null,
    continuation jsonb,
    failures integer not null default 0,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    used_at timestamptz(3)
  );
  create index mfa_tokens_user on mfa_tokens (user_uuid);

  -- token_hash: of the token that was mailed, where that is the method.
  create table step_up_challenges (
    uuid uuid primary key,
    user_uuid uuid not null references people (uuid),
    session_uuid uuid not null references sessions (uuid) on delete cascade,
    method text not null check (method in ('totp', 'magic_link', 'password')),
    token_hash bytea,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    consumed_at timestamptz(3),
    check ((method = 'magic_link') = (token_hash is not null))
  );
  create index step_up_challenges_session on step_up_challenges (session_uuid);
  create index step_up_challenges_user on step_up_challenges (user_uuid, expires_at);
`;

const grants = grantApp(
  "mfa_factors",
  "mfa_recovery_keys",
  "mfa_recovery_codes",
  "mfa_failures",
  "mfa_tokens",
  "step_up_challenges",
);

/** Second factors, recovery codes, failure budgets, step-up. */
export const mfa = defineMigration("0005-mfa", [proof, factors, proofs, grants]);
