import { defineMigration } from "../platform/db/migrator.ts";

// A directory that invites somebody names an address, not a person: whoever else's SCIM gives the person another
// address, and whoever ends their account by its mailbox, must not take the invitation along.
const moved = `
  create function scim_person_moved() returns trigger language plpgsql as $$
  declare
    org uuid;
  begin
    for org in select u.org_uuid from scim_users u where u.user_uuid = new.uuid and u.invited order by 1 loop
      update invitations set ended_at = new.updated_at, ended_as = 'withdrawn'
        where org_uuid = org and email_key = old.email_key and by_scim and accepted_at is null and ended_at is null;
      perform scim_left(org, new.uuid, new.updated_at);
    end loop;
    -- They were mailed to the address of before.
    update disown_tokens set used_at = new.updated_at where user_uuid = new.uuid and used_at is null;
    return null;
  end $$;
  create trigger scim_person_moved after update of email_key on people for each row
    when (old.email_key <> new.email_key) execute function scim_person_moved();
`;

// What moved before this migration.
const healed = `
  do $$
  declare
    gone record;
  begin
    for gone in select u.org_uuid, u.user_uuid from scim_users u join people p on p.uuid = u.user_uuid
      where u.invited and p.email_key = 'disowned:' || p.uuid
    loop
      perform scim_left(gone.org_uuid, gone.user_uuid, now());
    end loop;
    update invitations i set ended_at = now(), ended_as = 'withdrawn'
      where i.by_scim and i.accepted_at is null and i.ended_at is null and not exists (
        select from scim_users u join people p on p.uuid = u.user_uuid
        where u.org_uuid = i.org_uuid and u.invited and p.email_key = i.email_key);
  end $$;
`;

/** Invitations of a directory end when the person gets another address. */
export const directoryMoves = defineMigration("0120-directory-moves", [moved, healed]);
