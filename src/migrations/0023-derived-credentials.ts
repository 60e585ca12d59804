import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** Repeatable: the migration runs outside of any transaction, and again from its beginning if it is interrupted. */
const sessions = `
  alter table sessions
    -- The session this one was derived from by switching accounts: it never outlives it.
    add column if not exists source_uuid uuid,
    -- When a derived session ends by itself; expires_at is that or the end of its source, whichever comes first.
    add column if not exists idle_until timestamptz(3),
    -- Set with the first session derived from this one, so that the trigger costs the others nothing.
    add column if not exists has_derived boolean not null default false,
    -- The last step-up in this session, by whatever method.
    add column if not exists step_up_at timestamptz(3);

  -- What happens to the life of a session happens to all that were derived from it, in the same transaction.
  create or replace function sessions_follow_source() returns trigger language plpgsql as $$
  begin
    if new.revoked_at is not null then
      update sessions set revoked_at = new.revoked_at, revoked_reason = 'source_ended'
        where source_uuid = new.uuid and revoked_at is null and expires_at > new.revoked_at;
    else
      update sessions set expires_at = least(idle_until, new.expires_at)
        where source_uuid = new.uuid and revoked_at is null and expires_at <> least(idle_until, new.expires_at);
    end if;
    return null;
  end $$;
  create or replace trigger sessions_derived after update on sessions for each row
    when (new.has_derived and (old.revoked_at is distinct from new.revoked_at or old.expires_at <> new.expires_at))
    execute function sessions_follow_source();
`;

// The key that made this one, which ends no later than it.
const keys = "alter table api_keys add column if not exists made_with uuid";

/** Sessions and API keys that were made with another one and end with it. */
export const derivedCredentials = defineConcurrentMigration("0023-derived-credentials", [
  sessions,
  { index: "sessions_source", on: "sessions (source_uuid) where source_uuid is not null" },
  keys,
  { index: "api_keys_made_with", on: "api_keys (made_with) where made_with is not null and revoked_at is null" },
  // Counts the live keys of an organization.
  { index: "api_keys_live", on: "api_keys (org_uuid, expires_at) where revoked_at is null" },
]);
