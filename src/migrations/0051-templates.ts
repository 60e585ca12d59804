import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// A variable without owner is global. `declared` are the names that a template was given besides those of its body.
const tables = `
  create table custom_variables (
    id integer primary key generated always as identity,
    org_uuid uuid not null references organizations (uuid),
    owner_uuid uuid references people (uuid),
    key text not null,
    value text not null,
    created_at timestamptz not null
  );
  create unique index custom_variables_key on custom_variables (org_uuid, owner_uuid, key) nulls not distinct;
  create table templates (
    id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    name text not null,
    category text not null,
    declared text[] not null,
    variables text[] not null,
    body text,
    revision integer not null default 1,
    created_at timestamptz not null
  );
  create index templates_newest on templates (org_uuid, created_at desc, id);
`;

/** Templates and custom variables (decisions 10.10 and 10.11). */
export const templateTables = defineMigration("0051-templates", [tables, grantApp("custom_variables", "templates")]);
