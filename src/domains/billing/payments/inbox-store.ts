import { boundedCount, totalOf } from "../../../platform/db/total.ts";
import type { Total } from "../../../platform/db/total.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { Fact, ProviderEvent, ProviderName } from "../providers/index.ts";

/** Keeps an event; false when it is known. */
export async function insertEvent(
  tx: Tx,
  provider: ProviderName,
  event: ProviderEvent,
  body: string,
  at: Date,
): Promise<boolean> {
  const paid = event.facts.find((fact) => fact.kind === "payment" && fact.status === "paid");
  const { amount = null, currency = null } = paid?.kind === "payment" ? paid : {};
  const rows = await tx.query(
    `insert into provider_events
       (provider, event_id, type, occurred_at, received_at, ids, facts, body, amount, currency, reason, customer_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, case when $9::bigint is not null then 'unknown_purchase' end, $11)
     on conflict (provider, event_id) do nothing returning 1 as one`,
    [
      provider,
      event.eventId,
      event.type,
      event.occurredAt,
      at,
      event.ids,
      JSON.stringify(event.facts),
      body,
      amount,
      currency,
      event.customer ?? null,
    ],
  );
  return rows.length > 0;
}

/**
 * Makes events that share an id wait for each other until the end of the transaction: one may link what another one
 * waits for. Ids that are locked later than others may deadlock, and the transaction runs again.
 */
export async function lockIds(tx: Tx, provider: ProviderName, ids: readonly string[]): Promise<void> {
  await tx.query(
    `select pg_advisory_xact_lock(key) from (
       select distinct hashtextextended('billing-event/' || $1 || '/' || id, 0) as key from unnest($2::text[]) id
       order by key) as keys`,
    [provider, ids],
  );
}

/** Those of these ids that belong to quotes, with the quotes. */
export async function linksOf(
  tx: Tx,
  provider: ProviderName,
  ids: readonly string[],
): Promise<{ id: string; quoteId: string }[]> {
  return tx.query<{ id: string; quoteId: string }>(
    `select external_id as id, quote_id as "quoteId" from provider_links
     where provider = $1 and external_id = any ($2) order by quote_id`,
    [provider, ids],
  );
}

/** Links ids of a provider to a quote; ids that belong to another stay there. */
export async function linkIds(tx: Tx, provider: ProviderName, ids: readonly string[], quoteId: string): Promise<void> {
  await tx.query(
    `insert into provider_links (provider, external_id, quote_id)
     select $1, id, $3 from unnest($2::text[]) as linked (id) order by id
     on conflict (provider, external_id) do nothing`,
    [provider, [...new Set(ids)], quoteId],
  );
}

/**
 * Gives a quote the events that name one of its ids and belong to none yet, at most 1,000, and notes which of them are
 * payments of another sum than was quoted. Returns their ids of the provider, which belong to the quote too.
 */
export async function claimEvents(tx: Tx, provider: ProviderName, quoteId: string): Promise<string[]> {
  // The provider is no condition of the links: PostgreSQL would read all of that provider besides those of the quote.
  const rows = await tx.query<{ ids: string[] }>(
    `update provider_events e set quote_id = q.quote_id, reason = case when e.amount is null then null
         when e.currency <> q.currency then 'currency_mismatch'
         when e.amount <> q.total_cents then 'amount_mismatch' end
     from quotes q where q.quote_id = $2 and e.quote_id is null and e.ctid = any (array(
       select ctid from provider_events where quote_id is null and provider = $1 and ids && (
         select array_agg(external_id) filter (where provider = $1) from provider_links where quote_id = $2)
       limit 1000))
     returning e.ids`,
    [provider, quoteId],
  );
  return rows.flatMap(({ ids }) => ids);
}

/** Stores who an organization is at a provider, as the events of a paid quote say; newer ones win. */
export async function storeCustomer(tx: Tx, provider: ProviderName, orgUuid: string, quoteId: string): Promise<void> {
  await tx.query(
    `insert into billing_customers (provider, org_uuid, customer_id, seen_at)
     select $1, $2, customer_id, occurred_at from provider_events
     where quote_id = $3 and customer_id is not null order by occurred_at desc, event_id desc limit 1
     on conflict (provider, org_uuid) do update set customer_id = excluded.customer_id, seen_at = excluded.seen_at
     where billing_customers.seen_at <= excluded.seen_at`,
    [provider, orgUuid, quoteId],
  );
}

/** A payment that granted nothing. */
export interface UnmatchedRow {
  provider: string;
  eventId: string;
  type: string;
  /** A decimal. */
  amount: string;
  currency: string;
  receivedAt: Date;
  reason: string;
}

/** Payments that granted nothing, newest first. */
export async function unmatchedPayments(
  database: Pick<Database, "prepared">,
  limit: number,
  offset: number,
): Promise<{ rows: UnmatchedRow[] } & Total> {
  const from = "from provider_events where reason is not null";
  const [rows, counts] = await Promise.all([
    database.prepared<UnmatchedRow>(
      "billing-unmatched",
      `select provider, event_id as "eventId", type, amount::text, currency, received_at as "receivedAt", reason
       ${from} order by received_at desc, provider, event_id limit $1 offset $2`,
      [limit, offset],
    ),
    database.prepared<{ counted: number }>("billing-unmatched-count", boundedCount(from), []),
  ]);
  return { rows, ...totalOf(counts) };
}

// Providers may give times in whole seconds. Within one, creation comes first, then failures, other changes, and last
// what was paid, since a provider retries what failed and never what was paid; the id decides the rest.
const IN_ORDER = `occurred_at, case when type like '%.created' then 0 when type like '%failed' then 1
  when type in ('invoice.paid', 'transaction.completed', 'checkout.session.async_payment_succeeded') then 3 else 2 end,
  event_id`;

/** Facts of all events of a quote, in the order of their time, and whether one of them names a customer. */
export async function factsOf(tx: Tx, quoteId: string): Promise<{ facts: Fact[]; hasCustomer: boolean }> {
  const rows = await tx.query<{ facts: Fact[]; hasCustomer: boolean }>(
    `select facts, customer_id is not null as "hasCustomer" from provider_events
     where quote_id = $1 order by ${IN_ORDER} limit 10000`,
    [quoteId],
  );
  return { facts: rows.flatMap(({ facts }) => facts), hasCustomer: rows.some(({ hasCustomer }) => hasCustomer) };
}

/** Events that name an id of a quote and belong to none, because they came while it was being linked; oldest first. */
export function unclaimedEvents(
  database: Pick<Database, "prepared">,
  limit: number,
): Promise<{ provider: ProviderName; ids: string[] }[]> {
  return database.prepared(
    "billing-unclaimed",
    `select e.provider, e.ids from provider_events e
     where e.quote_id is null and e.received_at > '-infinity' and exists (
       select 1 from provider_links l where l.provider = e.provider and l.external_id = any (e.ids))
     order by e.received_at limit $1`,
    [limit],
  );
}

/** Deletes a batch of events that belong to no purchase and were received before a time; returns how many. */
export async function deleteUnmatched(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const sql = `delete from provider_events where ctid = any (array(
    select ctid from provider_events where quote_id is null and received_at > '-infinity' and received_at < $1
      and facts = '[]' limit 1000))
    returning 1 as one`;
  return (await database.prepared("billing-events-tidy", sql, [before])).length;
}
