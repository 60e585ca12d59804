import { defineMigration } from "../platform/db/migrator.ts";

const apps = `
  -- Every slug an app ever had. Rows are never deleted, so no slug is issued twice.
  create table app_slugs (
    slug text primary key
  );

  create table apps (
    app_id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    slug text not null unique references app_slugs (slug),
    name text not null,
    description text not null,
    deployment_modes text[] not null,
    pricing_model text not null,
    base_price_cents integer not null,
    currency text not null,
    plans jsonb not null,
    provision_webhook text not null,
    webhook_secret bytea not null,
    status text not null check (status in ('draft', 'published', 'rejected', 'archived')),
    created_by uuid not null references people (uuid),
    key_id uuid not null,
    key_rotated_at timestamptz(3),
    rejection_reason text,
    published_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    search tsvector not null generated always as (
      setweight(to_tsvector('simple', name), 'A') ||
      setweight(to_tsvector('simple', replace(slug, '-', ' ')), 'B') ||
      setweight(to_tsvector('simple', description), 'C')
    ) stored
  );
  create index apps_search on apps using gin (search) where status = 'published';
  create index apps_published on apps (published_at desc, app_id) where status = 'published';
  create index apps_org on apps (org_uuid, created_at desc);

  create table app_admins (
    grant_id uuid primary key,
    app_id uuid not null references apps (app_id),
    user_uuid uuid not null references people (uuid),
    granted_by uuid not null,
    created_at timestamptz(3) not null,
    unique (app_id, user_uuid)
  );
  create index app_admins_user on app_admins (user_uuid);

  create table app_listings (
    listing_id uuid primary key,
    app_id uuid not null references apps (app_id),
    marketplace text not null,
    external_product_id text not null,
    external_plan_id text,
    status text not null,
    created_at timestamptz(3) not null
  );
  create index app_listings_app on app_listings (app_id, created_at desc, listing_id);
`;

const installs = `
  create table installs (
    install_id uuid primary key,
    app_id uuid not null references apps (app_id),
    org_uuid uuid not null references organizations (uuid),
    status text not null check (status in ('provisioning', 'active', 'suspended', 'deprovisioning', 'deprovisioned')),
    deployment_mode text not null,
    plan_id text not null,
    quantity integer not null,
    endpoint_url text,
    payment_source text not null,
    current_period_end timestamptz(3),
    failure_reason text,
    installed_by uuid,
    sandbox boolean not null,
    -- What the publisher is asked to do now; null when nothing is.
    step text check (step in ('provision', 'deprovision', 'suspend', 'resume')),
    step_event_id text,
    step_since timestamptz(3),
    step_deadline timestamptz(3),
    accepted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null
  );
  -- At most one live install for each organization and app, whatever races.
  create unique index installs_live on installs (org_uuid, app_id) where status <> 'deprovisioned';
  create index installs_org on installs (org_uuid, created_at desc, install_id);
  create index installs_app on installs (app_id, created_at desc, install_id);

  create table install_timeline (
    id bigint primary key generated always as identity,
    install_id uuid not null references installs (install_id),
    at timestamptz(3) not null,
    event text not null,
    detail text not null
  );
  create index install_timeline_install on install_timeline (install_id, id);

  create table cloud_targets (
    target_id uuid primary key,
    install_id uuid not null unique references installs (install_id),
    org_uuid uuid not null,
    provider text not null,
    region text not null,
    status text not null check (status in ('active', 'revoked')),
    created_at timestamptz(3) not null
  );
  create index cloud_targets_newest on cloud_targets (created_at desc, target_id);
`;

const grants = `
  grant select, insert on app_slugs, install_timeline, app_listings to atrium_app;
  grant select, insert, update on apps, installs, cloud_targets to atrium_app;
  grant select, insert, delete on app_admins to atrium_app;
`;

/** Apps, who administers them, installs and their timelines. */
export const marketplace = defineMigration("0003-marketplace", [apps, installs, grants]);
