import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// Members and invited people as SCIM shows them. `data` are the attributes as they are returned, `folded` the same as
// filters compare them. `managed`: SCIM has written the attributes; until then they follow the person's profile.
// `invited`: known elsewhere, and has not accepted yet. `wanted`: they are to be a member once they accept.
const users = `
  create table scim_users (
    org_uuid uuid not null references organizations (uuid),
    user_uuid uuid not null references people (uuid),
    user_name text collate "C" not null,
    external_id text collate "C",
    active boolean not null,
    invited boolean not null default false,
    wanted boolean not null default true,
    managed boolean not null default false,
    data jsonb not null,
    folded jsonb not null,
    version integer not null default 1,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (org_uuid, user_uuid)
  );
  create unique index scim_users_name on scim_users (org_uuid, user_name);
  create index scim_users_external on scim_users (org_uuid, external_id) where external_id is not null;
  create index scim_users_created on scim_users (org_uuid, created_at, user_uuid);
  create index scim_users_updated on scim_users (org_uuid, updated_at, user_uuid);
  create index scim_users_person on scim_users (user_uuid);
  create index scim_users_invited on scim_users (org_uuid) where invited;
  create index scim_users_values on scim_users using gin (folded jsonb_path_ops);

  -- The organization whose SCIM made a person.
  create table scim_people (
    user_uuid uuid primary key references people (uuid),
    org_uuid uuid not null references organizations (uuid)
  );
`;

const groups = `
  create table scim_groups (
    group_uuid uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    display_name text collate "C" not null,
    external_id text collate "C",
    data jsonb not null,
    folded jsonb not null,
    version integer not null default 1,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null
  );
  create unique index scim_groups_name on scim_groups (org_uuid, display_name);
  create index scim_groups_external on scim_groups (org_uuid, external_id) where external_id is not null;
  create index scim_groups_created on scim_groups (org_uuid, created_at, group_uuid);
  create index scim_groups_updated on scim_groups (org_uuid, updated_at, group_uuid);

  create table scim_members (
    group_uuid uuid not null references scim_groups (group_uuid) on delete cascade,
    user_uuid uuid not null,
    org_uuid uuid not null,
    primary key (group_uuid, user_uuid),
    foreign key (org_uuid, user_uuid) references scim_users (org_uuid, user_uuid) on delete cascade
  );
  create index scim_members_user on scim_members (org_uuid, user_uuid);
`;

// A member has a row from the moment they join until they are removed, however that happens.
const upkeep = `
  create function scim_profile(p people) returns jsonb language sql stable as $$
    select jsonb_strip_nulls(jsonb_build_object(
      'userName', p.email,
      'name', nullif(jsonb_strip_nulls(jsonb_build_object(
        'givenName', nullif(p.first_name, ''), 'familyName', nullif(p.last_name, ''))), '{}'),
      'emails', jsonb_build_array(jsonb_build_object('value', p.email, 'primary', true))))
  $$;

  create function scim_joined(org uuid, person uuid, is_active boolean, at timestamptz) returns void
  language plpgsql as $$
  declare
    profile jsonb;
  begin
    update scim_users set active = is_active, invited = false, version = version + 1, updated_at = at
      where org_uuid = org and user_uuid = person and (active <> is_active or invited);
    if exists (select from scim_users where org_uuid = org and user_uuid = person) then return; end if;
    select scim_profile(p) into profile from people p where p.uuid = person;
    insert into scim_users (org_uuid, user_uuid, user_name, active, data, folded, created_at, updated_at)
    values (org, person, lower(profile->>'userName'), is_active, profile, scim_own_names(profile), at, at)
    on conflict do nothing;
    if found then return; end if;
    -- The address is the userName of somebody else.
    profile := profile || jsonb_build_object('userName', person::text);
    insert into scim_users (org_uuid, user_uuid, user_name, active, data, folded, created_at, updated_at)
    values (org, person, person::text, is_active, profile, scim_own_names(profile), at, at)
    on conflict do nothing;
  end $$;
`;

const names = `
  create function scim_own_names(profile jsonb) returns jsonb language sql stable as $$
    select jsonb_strip_nulls(jsonb_build_object(
      'schemas', jsonb_build_array('urn:ietf:params:scim:schemas:core:2.0:User'),
      'userName', lower(profile->>'userName'),
      'name', nullif(jsonb_strip_nulls(jsonb_build_object(
        'givenName', lower(profile->'name'->>'givenName'), 'familyName', lower(profile->'name'->>'familyName'))), '{}'),
      'emails', jsonb_build_array(jsonb_build_object('value', lower(profile->'emails'->0->>'value'), 'primary', true))))
  $$;
`;

const triggers = `
  -- Ends what SCIM shows of somebody; the groups they were in change with it.
  create function scim_left(org uuid, person uuid, at timestamptz) returns void language plpgsql as $$
  begin
    update scim_groups g set version = g.version + 1, updated_at = at
      from scim_members m where m.org_uuid = org and m.user_uuid = person and g.group_uuid = m.group_uuid;
    delete from scim_users where org_uuid = org and user_uuid = person;
  end $$;

  create function scim_member_joined() returns trigger language plpgsql as $$
  begin
    perform scim_joined(new.org_uuid, new.user_uuid, new.status = 'active', new.updated_at);
    return null;
  end $$;
  create trigger scim_member_joined after insert on memberships for each row
    when (new.status <> 'removed') execute function scim_member_joined();

  create function scim_member_moved() returns trigger language plpgsql as $$
  begin
    if new.status = 'removed' then perform scim_left(new.org_uuid, new.user_uuid, new.updated_at);
    else perform scim_joined(new.org_uuid, new.user_uuid, new.status = 'active', new.updated_at);
    end if;
    return null;
  end $$;
  create trigger scim_member_moved after update of status on memberships for each row
    when (old.status is distinct from new.status) execute function scim_member_moved();

  create function scim_person_described() returns trigger language plpgsql as $$
  declare
    profile jsonb := scim_profile(new);
  begin
    update scim_users u set data = profile || jsonb_build_object('userName', u.data->>'userName'),
        folded = scim_own_names(profile || jsonb_build_object('userName', u.data->>'userName')),
        version = version + 1, updated_at = new.updated_at
      where user_uuid = new.uuid and not managed;
    return null;
  end $$;
  create trigger scim_person_described after update of email, first_name, last_name on people for each row
    when (old.email <> new.email or old.first_name <> new.first_name or old.last_name <> new.last_name)
    execute function scim_person_described();
`;

const present = `
  insert into scim_users (org_uuid, user_uuid, user_name, active, data, folded, created_at, updated_at)
  select m.org_uuid, m.user_uuid, lower(p.email), m.status = 'active', scim_profile(p),
    scim_own_names(scim_profile(p)), m.created_at, m.updated_at
  from memberships m join people p on p.uuid = m.user_uuid where m.status <> 'removed';

  -- An invitation that SCIM sends stands on the organization's directory, not on a person's power.
  alter table invitations add column by_scim boolean not null default false;
`;

const grants = grantApp("scim_users", "scim_people", "scim_groups", "scim_members");

/** Users and groups of SCIM. */
export const scim = defineMigration("0048-scim", [users, groups, names, upkeep, triggers, present, grants]);
