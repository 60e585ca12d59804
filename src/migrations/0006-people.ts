import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

const invitations = `
  -- Only the hash of the mailed token is stored. ended_as: why an invitation ended, unless it was accepted or expired.
  create table invitations (
    uuid uuid primary key,
    token_hash bytea not null unique,
    org_uuid uuid not null references organizations (uuid),
    email text not null,
    email_key text not null,
    role_id integer not null references roles (id),
    invited_by uuid references people (uuid),
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    accepted_at timestamptz(3),
    ended_at timestamptz(3),
    ended_as text check (ended_as in ('withdrawn', 'replaced')),
    check ((ended_at is null) = (ended_as is null)),
    check (accepted_at is null or ended_at is null)
  );
  create unique index invitations_open on invitations (org_uuid, email_key)
    where accepted_at is null and ended_at is null;
  create index invitations_org on invitations (org_uuid, created_at desc, uuid);
`;

const pictures = `
  create table pictures (
    user_uuid uuid primary key references people (uuid),
    content_type text not null check (content_type in ('image/png', 'image/jpeg', 'image/webp')),
    etag text not null,
    image bytea not null,
    set_at timestamptz(3) not null
  );
`;

// Lists of people are by email and count their matches, however large an organization is: the membership carries
// the person's email, kept by triggers, and a row for each organization counts, so that neither sorts nor scans.
const lists = `
  alter table memberships add column email_key text;
  update memberships m set email_key = p.email_key from people p where p.uuid = m.user_uuid;
  alter table memberships alter column email_key set not null;
  create index memberships_email on memberships (org_uuid, email_key) where status <> 'removed';
  create index memberships_status_email on memberships (org_uuid, status, email_key);

  create function membership_email() returns trigger language plpgsql as $$
  begin
    new.email_key := (select email_key from people where uuid = new.user_uuid);
    return new;
  end $$;
  create trigger membership_email before insert on memberships for each row execute function membership_email();

  create function person_email() returns trigger language plpgsql as $$
  begin
    update memberships set email_key = new.email_key where user_uuid = new.uuid;
    return null;
  end $$;
  create trigger person_email after update of email_key on people for each row
    when (old.email_key is distinct from new.email_key) execute function person_email();

  create table membership_counts (
    org_uuid uuid primary key references organizations (uuid),
    active integer not null,
    inactive integer not null
  );
  insert into membership_counts (org_uuid, active, inactive)
  select org_uuid, count(*) filter (where status = 'active'), count(*) filter (where status = 'inactive')
  from memberships group by org_uuid;

  create function memberships_added() returns trigger language plpgsql as $$
  begin
    insert into membership_counts as c (org_uuid, active, inactive)
    select org_uuid, count(*) filter (where status = 'active'), count(*) filter (where status = 'inactive')
    from added group by org_uuid order by org_uuid
    on conflict (org_uuid) do update set active = c.active + excluded.active, inactive = c.inactive + excluded.inactive;
    return null;
  end $$;
  create trigger memberships_added after insert on memberships referencing new table as added
    for each statement execute function memberships_added();

  create function membership_moved() returns trigger language plpgsql as $$
  begin
    update membership_counts set
      active = active + (new.status = 'active')::int - (old.status = 'active')::int,
      inactive = inactive + (new.status = 'inactive')::int - (old.status = 'inactive')::int
    where org_uuid = new.org_uuid;
    return null;
  end $$;
  create trigger membership_moved after update of status on memberships for each row
    when (old.status is distinct from new.status) execute function membership_moved();
`;

const grants = grantApp("invitations", "pictures", "membership_counts");

/** Invitations, pictures, and what makes lists of people cheap. */
export const people = defineMigration("0006-people", [invitations, pictures, lists, grants]);
