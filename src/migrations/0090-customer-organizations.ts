import { grantApp } from "../platform/db/grants.ts";
import { defineConcurrentMigration } from "../platform/db/migrator.ts";

const table = `create table if not exists customer_organizations (
    provider text not null,
    customer_id text not null,
    org_uuid uuid not null references organizations (uuid),
    primary key (provider, customer_id, org_uuid)
  )`;

const fill = `insert into customer_organizations (provider, customer_id, org_uuid)
  select distinct e.provider, e.customer_id, q.org_uuid
  from provider_events e join quotes q on q.quote_id = e.quote_id where e.customer_id is not null
  on conflict do nothing`;

/** The organizations whose events name a customer: a portal shows everything of a customer, whoever paid for it. */
export const customerOrganizations = defineConcurrentMigration("0090-customer-organizations", [
  table,
  fill,
  grantApp("customer_organizations"),
  { index: "provider_customers_customer", on: "provider_customers (provider, customer_id)" },
]);
