import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// What tokens stand on and what has changed of it. A row names the session, person or organization (the nil UUID for
// the instance) of which something became less or other than it was; an instance that keeps what it read asks on every
// request for rows of transactions it has not seen yet. Rows appear in the very transaction of the change, so nothing
// that is visible is missing here, and the transaction id rather than a sequence says what is new: it cannot be drawn
// early and committed late. New sessions and memberships are not told: nobody keeps that something does not exist.
const changes = `
  create table liveness_changes (
    xid xid8 not null default pg_current_xact_id(),
    subject uuid not null,
    at timestamptz(3) not null default clock_timestamp()
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
  create index liveness_changes_xid on liveness_changes (xid);

  create function liveness_changed() returns trigger language plpgsql as $$
  begin
    insert into liveness_changes (subject) values (old.uuid);
    return null;
  end $$;

  create function liveness_changed_member() returns trigger language plpgsql as $$
  begin
    insert into liveness_changes (subject) values (old.user_uuid);
    return null;
  end $$;

  create function liveness_changed_key() returns trigger language plpgsql as $$
  begin
    insert into liveness_changes (subject) values (coalesce(old.org_uuid, '00000000-0000-0000-0000-000000000000'));
    return null;
  end $$;
`;

/**
 * Triggers of one table: on removal, and on an update that `when` names. Cheap where nothing of it changed: no function
 * is called.
 */
function told(table: string, fn: string, when: string): string {
  return `
    create trigger liveness_update after update on ${table} for each row when (${when}) execute function ${fn}();
    create trigger liveness_delete after delete on ${table} for each row execute function ${fn}();
  `;
}

const differ = (...columns: string[]): string =>
  columns.map((column) => `old.${column} is distinct from new.${column}`).join(" or ");

/** Changes of what access tokens stand on, for the check of every request. */
export const liveness = defineMigration("0012-liveness", [
  changes,
  // A session that lasts longer than was known is found out when what was known is over.
  told(
    "sessions",
    "liveness_changed",
    `${differ("uuid", "user_uuid", "org_uuid", "revoked_at")} or new.expires_at < old.expires_at`,
  ),
  told("people", "liveness_changed", differ("uuid", "email", "is_superuser", "is_operator")),
  told("organizations", "liveness_changed", differ("uuid", "name", "deleted_at")),
  told("memberships", "liveness_changed_member", differ("org_uuid", "user_uuid", "status", "version", "is_owner")),
  told("signing_keys", "liveness_changed_key", differ("kid", "org_uuid", "valid_until")),
  grantApp("liveness_changes"),
]);
