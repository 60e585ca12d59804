import { defineMigration } from "../platform/db/migrator.ts";

// The trigger of 0120 calls scim_left without a lock of the organization, so two of them can meet on the same groups.
const ordered = `
  create or replace function scim_left(org uuid, person uuid, at timestamptz) returns void language plpgsql as $$
  begin
    perform from scim_groups g
      where g.group_uuid in (select m.group_uuid from scim_members m where m.org_uuid = org and m.user_uuid = person)
      order by g.group_uuid for no key update;
    update scim_groups g set version = g.version + 1, updated_at = at
      from scim_members m where m.org_uuid = org and m.user_uuid = person and g.group_uuid = m.group_uuid;
    delete from scim_users where org_uuid = org and user_uuid = person;
  end $$;
`;

/** Whoever leaves a directory locks the groups they are in, in one order. */
export const scimGroupOrder = defineMigration("0133-scim-group-order", [ordered]);
