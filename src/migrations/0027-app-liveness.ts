import { defineMigration } from "../platform/db/migrator.ts";

// A new app is its maker's and its owners' with the tokens they have: what is known of their sessions is read again.
const told = `
  create function liveness_changed_app() returns trigger language plpgsql as $$
  begin
    insert into liveness_changes (subject) values (new.org_uuid);
    return null;
  end $$;
  create trigger liveness_insert after insert on apps for each row execute function liveness_changed_app();
`;

/** Tells instances of new apps. */
export const appLiveness = defineMigration("0027-app-liveness", [told]);
