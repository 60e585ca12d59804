import { defineConcurrentMigration } from "../platform/db/migrator.ts";

// Unlike `oidc_sessions` it stays when the connection is deleted, and when a session no longer has a source.
const provider = `
  alter table sessions
    -- The organization whose identity provider opened this session, or one whose token opened it.
    add column if not exists provider_org_uuid uuid
`;

const older = `
  -- For sessions that an instance of an earlier version opens.
  create or replace function note_session_provider() returns trigger language plpgsql as $function$
  begin
    update sessions set provider_org_uuid = c.org_uuid from oidc_connections c
    where c.uuid = new.connection_uuid and sessions.uuid = new.session_uuid and provider_org_uuid is null;
    return null;
  end
  $function$;
  create or replace trigger oidc_sessions_provider after insert on oidc_sessions
    for each row execute function note_session_provider();
`;

// A batch is a transaction: whoever needs one of its sessions waits for no more than that.
const opened = `
  do $$
  declare
    last uuid := '00000000-0000-0000-0000-000000000000';
    batch uuid[];
  begin
    loop
      batch := array(select session_uuid from oidc_sessions where session_uuid > last order by 1 limit 1000);
      exit when cardinality(batch) = 0;
      update sessions s set provider_org_uuid = c.org_uuid
      from oidc_sessions o join oidc_connections c on c.uuid = o.connection_uuid
      where o.session_uuid = any(batch) and s.uuid = o.session_uuid and s.provider_org_uuid is null
        and s.revoked_at is null;
      last := batch[cardinality(batch)];
      commit;
    end loop;
  end $$
`;

// Those that were opened by their tokens, step by step.
const derived = `
  do $$
  begin
    loop
      update sessions s set provider_org_uuid = f.provider_org_uuid from sessions f
      where f.uuid = s.source_uuid and f.provider_org_uuid is not null and f.revoked_at is null
        and s.provider_org_uuid is null and s.revoked_at is null;
      exit when not found;
      commit;
    end loop;
  end $$
`;

/** Sessions that end with the organization whose identity provider opened them, and with the membership there. */
export const sessionProviders = defineConcurrentMigration("0109-session-providers", [
  provider,
  { index: "sessions_provider", on: "sessions (provider_org_uuid) where provider_org_uuid is not null" },
  older,
  opened,
  derived,
]);
