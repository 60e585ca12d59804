import { defineMigration } from "../platform/db/migrator.ts";

// Every request reads `liveness_changes` from the oldest open transaction on, and passes the rows of open ones. So a
// transaction writes no more of them than an instance reads one by one (MAX_CHANGES in domains/liveness/store.ts) and
// one: more have the same effect as all. A savepoint that is rolled back takes its rows and their number with it.
const tell = `
  create function liveness_tell(changed uuid) returns void language plpgsql as $$
  declare
    told integer := coalesce(nullif(current_setting('atrium.liveness_told', true), ''), '0');
  begin
    if told > 5000 then return; end if;
    insert into liveness_changes (subject) values (changed);
    perform set_config('atrium.liveness_told', (told + 1)::text, true);
  end $$;
`;

/** A function of triggers that tells of `subjects`, SQL after `perform`. */
const tellOf = (name: string, subjects: string): string => `
  create or replace function ${name}() returns trigger language plpgsql as $$
  begin
    perform ${subjects};
    return null;
  end $$;
`;

/** Bounds what one transaction writes to `liveness_changes`. */
export const boundedChanges = defineMigration("0132-bounded-changes", [
  tell,
  tellOf("liveness_changed", "liveness_tell(old.uuid)"),
  tellOf("liveness_changed_member", "liveness_tell(old.user_uuid)"),
  tellOf("liveness_changed_key", "liveness_tell(coalesce(old.org_uuid, '00000000-0000-0000-0000-000000000000'))"),
  tellOf("liveness_changed_app", "liveness_tell(new.org_uuid)"),
  tellOf(
    "liveness_changed_row",
    "liveness_tell((to_jsonb(case when tg_op = 'INSERT' then new else old end) ->> tg_argv[0])::uuid)",
  ),
  tellOf("liveness_changed_plan", "liveness_tell(uuid) from organizations where plan = old.plan limit 5001"),
]);
