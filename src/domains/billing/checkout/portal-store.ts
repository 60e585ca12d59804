import type { Database } from "../../../platform/db/types.ts";
import type { ProviderName } from "../providers/index.ts";

type Reader = Pick<Database, "prepared">;

/**
 * Customers at the providers: the organization's, else the person's own. Where Stripe has several of an organization,
 * as when their currencies differ, it is the one with the newest subscription that lives.
 */
export async function customersOf(
  database: Reader,
  orgUuid: string,
  userUuid: string | null,
): Promise<Map<ProviderName, string>> {
  const rows = await database.prepared<{ provider: ProviderName; customerId: string }>(
    "billing-customers",
    `select distinct on (provider) provider, customer_id as "customerId" from (
       select provider, (
         select customer_id from provider_events e
         where e.quote_id = s.quote_id and e.provider = s.provider and e.customer_id is not null
         order by occurred_at desc, event_id desc limit 1) as customer_id, 1 as rank
       from (
         select provider, quote_id from subscriptions
         where org_uuid = $1 and provider = 'stripe' and status <> 'canceled'
         order by created_at desc, subscription_id limit 1) s
       union all
       select provider, customer_id, 2 from billing_customers where org_uuid = $1
       union all
       select provider, customer_id, 3 from provider_customers where org_uuid = $1 and user_uuid = $2) as known
     where customer_id is not null
     order by provider, rank`,
    [orgUuid, userUuid],
  );
  return new Map(rows.map(({ provider, customerId }) => [provider, customerId]));
}

/**
 * Whether the portal of a customer would show what another organization bought, or the cards of another person there:
 * at Paddle, whoever types an email at the checkout pays as the customer of that email.
 */
export async function isSharedCustomer(
  database: Reader,
  provider: ProviderName,
  customerId: string,
  { orgUuid, userUuid }: { orgUuid: string; userUuid: string | null },
): Promise<boolean> {
  const rows = await database.prepared(
    "billing-shared-customer",
    `select 1 as one from customer_organizations where provider = $1 and customer_id = $2 and org_uuid <> $3
     union all
     select 1 from provider_customers
     where provider = $1 and customer_id = $2 and org_uuid <> $3 and user_uuid is distinct from $4::uuid
     limit 1`,
    [provider, customerId, orgUuid, userUuid],
  );
  return rows.length > 0;
}
