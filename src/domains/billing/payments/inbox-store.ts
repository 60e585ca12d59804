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
  const rows = await tx.query(
    `insert into provider_events (provider, event_id, type, occurred_at, received_at, ids, facts, body)
     values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (provider, event_id) do nothing returning 1 as one`,
    [provider, event.eventId, event.type, event.occurredAt, at, event.ids, JSON.stringify(event.facts), body],
  );
  return rows.length > 0;
}

/** Matching of a provider's events happens one after the other: an event may link what another one waits for. */
export async function lockMatching(tx: Tx, provider: ProviderName): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('billing-events-' || $1, 0))", [provider]);
}

/** Quotes to which one of these ids belongs. */
export async function quotesLinkedTo(tx: Tx, provider: ProviderName, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ quoteId: string }>(
    `select distinct quote_id as "quoteId" from provider_links where provider = $1 and external_id = any ($2)`,
    [provider, ids],
  );
  return rows.map(({ quoteId }) => quoteId);
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
 * Gives a quote the events that name one of its ids and belong to none yet, at most 1,000; returns their ids of the
 * provider, which belong to the quote too.
 */
export async function claimEvents(tx: Tx, provider: ProviderName, quoteId: string): Promise<string[]> {
  const rows = await tx.query<{ ids: string[] }>(
    `update provider_events set quote_id = $2 where (provider, event_id) in (
       select provider, event_id from provider_events where quote_id is null and provider = $1
         and ids && (select array_agg(external_id) from provider_links where quote_id = $2 and provider = $1)
       limit 1000)
     returning ids`,
    [provider, quoteId],
  );
  return rows.flatMap(({ ids }) => ids);
}

/** Facts of all events of a quote, in the order of their time. */
export async function factsOf(tx: Tx, quoteId: string): Promise<Fact[]> {
  const rows = await tx.query<{ facts: Fact[] }>(
    `select facts from provider_events where quote_id = $1 order by occurred_at, event_id limit 10000`,
    [quoteId],
  );
  return rows.flatMap(({ facts }) => facts);
}

/** Events that name an id of a quote and belong to none, because they came while it was being linked; oldest first. */
export function unclaimedEvents(
  database: Pick<Database, "prepared">,
  limit: number,
): Promise<{ provider: ProviderName; ids: string[] }[]> {
  return database.prepared(
    "billing-unclaimed",
    `select e.provider, e.ids from provider_events e where e.quote_id is null and exists (
       select 1 from provider_links l where l.provider = e.provider and l.external_id = any (e.ids))
     order by e.received_at limit $1`,
    [limit],
  );
}

/** Deletes a batch of events that belong to no purchase and were received before a time; returns how many. */
export async function deleteUnmatched(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const sql = `delete from provider_events where ctid = any (array(
    select ctid from provider_events where quote_id is null and received_at < $1 and facts = '[]' limit 1000))
    returning 1 as one`;
  return (await database.prepared("billing-events-tidy", sql, [before])).length;
}
