import type { Tx } from "../../../platform/db/types.ts";
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
