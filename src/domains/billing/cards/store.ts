import type { Database, Tx } from "../../../platform/db/types.ts";
import type { ProviderName } from "../providers/index.ts";

/** A stored payment method. */
export interface CardRow {
  id: string;
  provider: ProviderName;
  externalId: string;
  brand: string;
  last4: string;
  expMonth: number;
  expYear: number;
  isDefault: boolean;
  createdAt: Date;
}

/** A person in an organization: whose cards. */
export interface Holder {
  orgUuid: string;
  userUuid: string;
}

const columns = `id, provider, external_id as "externalId", brand, last4, exp_month as "expMonth",
  exp_year as "expYear", is_default as "isDefault", created_at as "createdAt"`;

/** Cards of a person, newest first. */
export function cardsOf(
  database: Pick<Database, "prepared">,
  { orgUuid, userUuid }: Holder,
  limit: number,
): Promise<CardRow[]> {
  const sql = `select ${columns} from cards where org_uuid = $1 and user_uuid = $2
    order by created_at desc, id limit $3`;
  return database.prepared<CardRow>("cards-list", sql, [orgUuid, userUuid, limit]);
}

/** A card of a person; undefined when there is none. */
export async function findCard(
  database: Pick<Database, "prepared">,
  { orgUuid, userUuid }: Holder,
  id: string,
): Promise<CardRow | undefined> {
  const sql = `select ${columns} from cards where id = $1 and org_uuid = $2 and user_uuid = $3`;
  return (await database.prepared<CardRow>("card-read", sql, [id, orgUuid, userUuid]))[0];
}

/** Locks the cards of a person until the transaction ends, none of them included. */
export async function lockCards(tx: Tx, { orgUuid, userUuid }: Holder): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('cards ' || $1 || ' ' || $2, 0))", [orgUuid, userUuid]);
}

/** The customer of a person at a provider; undefined where there is none. */
export async function customerOf(
  database: Pick<Database, "prepared">,
  { orgUuid, userUuid }: Holder,
  provider: ProviderName,
): Promise<string | undefined> {
  const sql = `select customer_id as "customerId" from provider_customers
    where provider = $1 and org_uuid = $2 and user_uuid = $3`;
  const rows = await database.prepared<{ customerId: string }>("card-customer", sql, [provider, orgUuid, userUuid]);
  return rows[0]?.customerId;
}

/** Stores the customer of a person at a provider, in place of one that the provider has no more. */
export async function storeCustomer(
  tx: Tx,
  { orgUuid, userUuid }: Holder,
  provider: ProviderName,
  customerId: string,
): Promise<void> {
  await tx.query(
    `insert into provider_customers (provider, org_uuid, user_uuid, customer_id) values ($1, $2, $3, $4)
     on conflict (provider, org_uuid, user_uuid) do update set customer_id = excluded.customer_id
     where provider_customers.customer_id <> excluded.customer_id`,
    [provider, orgUuid, userUuid, customerId],
  );
}

/** Number of a person's cards other than that of a payment method. */
export async function countOthers(
  tx: Tx,
  { orgUuid, userUuid }: Holder,
  provider: ProviderName,
  externalId: string,
): Promise<number> {
  const sql = `select count(*)::int as count from cards
    where org_uuid = $1 and user_uuid = $2 and (provider <> $3 or external_id <> $4)`;
  return (await tx.query<{ count: number }>(sql, [orgUuid, userUuid, provider, externalId]))[0]?.count ?? 0;
}

/** Stores a card, once for each payment method; returns it as it is stored. */
export async function putCard(tx: Tx, { orgUuid, userUuid }: Holder, card: CardRow): Promise<CardRow> {
  const [row] = await tx.query<CardRow>(
    `insert into cards (id, org_uuid, user_uuid, provider, external_id, brand, last4, exp_month, exp_year, is_default,
       created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (org_uuid, user_uuid, provider, external_id) do update
     set is_default = cards.is_default or excluded.is_default returning ${columns}`,
    [
      card.id,
      orgUuid,
      userUuid,
      card.provider,
      card.externalId,
      card.brand,
      card.last4,
      card.expMonth,
      card.expYear,
      card.isDefault,
      card.createdAt,
    ],
  );
  if (row === undefined) throw new Error("insert … returning returned no row");
  return row;
}

/** Leaves a person without a default card. */
export async function clearDefault(tx: Tx, { orgUuid, userUuid }: Holder): Promise<void> {
  await tx.query("update cards set is_default = false where org_uuid = $1 and user_uuid = $2 and is_default", [
    orgUuid,
    userUuid,
  ]);
}

/** Makes a card of a person the default; undefined when there is none. */
export async function setDefault(tx: Tx, { orgUuid, userUuid }: Holder, id: string): Promise<CardRow | undefined> {
  const sql = `update cards set is_default = true where id = $1 and org_uuid = $2 and user_uuid = $3
    returning ${columns}`;
  return (await tx.query<CardRow>(sql, [id, orgUuid, userUuid]))[0];
}

/** Deletes a card of a person; undefined when there is none. */
export async function deleteCard(tx: Tx, { orgUuid, userUuid }: Holder, id: string): Promise<CardRow | undefined> {
  const sql = `delete from cards where id = $1 and org_uuid = $2 and user_uuid = $3 returning ${columns}`;
  return (await tx.query<CardRow>(sql, [id, orgUuid, userUuid]))[0];
}

/** Makes the newest card of a person the default. */
export async function setNewestDefault(tx: Tx, { orgUuid, userUuid }: Holder): Promise<void> {
  await tx.query(
    `update cards set is_default = true where id = (
       select id from cards where org_uuid = $1 and user_uuid = $2 order by created_at desc, id limit 1)`,
    [orgUuid, userUuid],
  );
}
