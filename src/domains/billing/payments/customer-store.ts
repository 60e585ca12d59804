import type { Database, Tx } from "../../../platform/db/types.ts";
import type { ProviderName } from "../providers/index.ts";

/** A customer of a provider that an event of an organization's purchase names. */
export interface NamedCustomer {
  orgUuid: string;
  customerId: string;
  /** When the event was, by the provider's clock: ISO 8601. */
  at: string;
}

/** Notes which organizations' events name customers. */
export function nameCustomers(tx: Tx, provider: ProviderName, named: readonly NamedCustomer[]): void {
  if (named.length === 0) return;
  tx.defer(
    `insert into customer_organizations (provider, customer_id, org_uuid)
     select distinct $1::text, customer_id, org_uuid
     from unnest($2::text[], $3::uuid[]) as named (customer_id, org_uuid)
     order by customer_id, org_uuid
     on conflict do nothing`,
    [provider, named.map(({ customerId }) => customerId), named.map(({ orgUuid }) => orgUuid)],
  );
}

/**
 * Stores who organizations are at a provider, as their paid purchases say; newer ones win. An organization that has a
 * customer keeps it when the newer one is named by another organization's events too. These are noted before.
 */
export function storeCustomers(tx: Tx, provider: ProviderName, paid: readonly NamedCustomer[]): void {
  if (paid.length === 0) return;
  tx.defer(
    `insert into billing_customers (provider, org_uuid, customer_id, seen_at)
     select distinct on (org_uuid) $1::text, org_uuid, customer_id, at
     from unnest($2::uuid[], $3::text[], $4::timestamptz[]) as paid (org_uuid, customer_id, at)
     order by org_uuid, at desc, customer_id
     on conflict (provider, org_uuid) do update set customer_id = excluded.customer_id, seen_at = excluded.seen_at
     where billing_customers.seen_at <= excluded.seen_at and not exists (
       select 1 from customer_organizations c where c.provider = excluded.provider
         and c.customer_id = excluded.customer_id and c.org_uuid <> excluded.org_uuid)`,
    [provider, paid.map(({ orgUuid }) => orgUuid), paid.map(({ customerId }) => customerId), paid.map(({ at }) => at)],
  );
}

/**
 * Notes the organizations of the customers that paid since a time, and forgets those of Paddle: the organization's own
 * one is stored when it is made, and not at the time of an event. Returns how many were forgotten.
 */
export async function forgetNamedCustomers(database: Pick<Database, "prepared">, since: Date): Promise<number> {
  const sql = `with named as (
      select b.provider, b.org_uuid, b.customer_id, b.seen_at from billing_customers b
      where b.seen_at >= $1 and exists (
        select 1 from payments p join provider_events e on e.quote_id = p.quote_id
        where p.org_uuid = b.org_uuid and e.provider = b.provider and e.customer_id = b.customer_id
          and e.occurred_at = b.seen_at)),
    noted as (
      insert into customer_organizations (provider, customer_id, org_uuid)
      select provider, customer_id, org_uuid from named on conflict do nothing)
    delete from billing_customers b using named n
    where b.provider = 'paddle' and n.provider = b.provider and n.org_uuid = b.org_uuid
      and n.customer_id = b.customer_id and n.seen_at = b.seen_at
    returning 1 as one`;
  return (await database.prepared("billing-named-customers", sql, [since])).length;
}
