import { containing } from "../../../platform/db/list.ts";
import type { Page } from "../../../platform/db/paging.ts";
import { boundedCount, totalOf } from "../../../platform/db/total.ts";
import type { Total } from "../../../platform/db/total.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { Fact, ProviderEvent, ProviderName } from "../providers/index.ts";

/** A verified event as it came. */
export interface ReceivedEvent {
  event: ProviderEvent;
  body: string;
}

/** An array of texts as PostgreSQL reads it: the arrays of several rows cannot be one parameter. */
const arrayOf = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/gu, "\\$&")}"`).join(",")}}`;

/** Whether a fact is that money came or was paid back: it is listed as unmatched while it belongs to no purchase. */
function isMoney(fact: Fact): fact is Extract<Fact, { kind: "payment" | "refund" }> {
  if (fact.kind === "payment") return fact.status === "paid";
  return fact.kind === "refund" && fact.failed === undefined && fact.amount > 0 && fact.currency !== undefined;
}

/** The reason why an event `e` of a quote `q` granted nothing: a refund has no sum that was quoted. */
const mismatch = `case when e.amount is null or e.facts @> '[{"kind": "refund"}]' then null
  when e.currency <> q.currency then 'currency_mismatch'
  when e.amount <> q.total_cents then 'amount_mismatch' end`;

/**
 * Keeps events, of which each has another id. With `claim` they are given the quote that one of their ids belongs to,
 * and their other ids are linked to it: who claims applies them too. Returns the quote of each event that was not
 * known, null where it has none.
 */
export function insertEvents(
  tx: Tx,
  provider: ProviderName,
  received: readonly ReceivedEvent[],
  at: Date,
  { claim }: { claim: boolean },
): Promise<{ quoteId: string | null }[]> {
  const all = <T>(member: (one: ReceivedEvent) => T): T[] => received.map(member);
  const money = received.map(({ event: { facts } }) => facts.find(isMoney));
  // An aggregate, which reads the links by their ids: for the first in the order of quotes it would read all of them.
  return tx.query<{ quoteId: string | null }>(
    `with kept as (
       insert into provider_events (provider, event_id, type, occurred_at, received_at, ids, facts, body, amount,
         currency, customer_id, quote_id, reason)
       select $1, e.event_id, e.type, e.occurred_at, $2, e.ids::text[], e.facts, e.body, e.amount, e.currency,
         e.customer_id, q.quote_id,
         case when q.quote_id is not null then ${mismatch} when e.amount is not null then 'unknown_purchase' end
       from unnest($3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::jsonb[], $8::text[], $9::bigint[],
         $10::text[], $11::text[])
         as e (event_id, type, occurred_at, ids, facts, body, amount, currency, customer_id)
       left join lateral (
         select quote_id, currency, total_cents from quotes where $12::boolean and quote_id = (
           select (array_agg(l.quote_id order by l.quote_id))[1] from provider_links l
           where l.provider = $1 and l.external_id = any (e.ids::text[]))
         limit 1) q on true
       order by e.event_id
       on conflict (provider, event_id) do nothing returning ids, quote_id),
     linked as (
       insert into provider_links (provider, external_id, quote_id)
       select distinct on (id) $1::text, id, quote_id from kept, unnest(ids) id where quote_id is not null order by id
       on conflict (provider, external_id) do nothing)
     select quote_id as "quoteId" from kept`,
    [
      provider,
      at,
      all(({ event }) => event.eventId),
      all(({ event }) => event.type),
      all(({ event }) => event.occurredAt),
      all(({ event }) => arrayOf(event.ids)),
      all(({ event }) => JSON.stringify(event.facts)),
      all(({ body }) => body),
      money.map((fact) => fact?.amount ?? null),
      money.map((fact) => fact?.currency ?? null),
      all(({ event }) => event.customer ?? null),
      claim,
    ],
  );
}

/**
 * Makes the statements of a transaction read by index. Otherwise PostgreSQL keeps the plans that it made while the
 * tables were small, and reads them from end to end, until it has analyzed them: a minute or more.
 */
export function readByIndex(tx: Tx): void {
  tx.defer("select set_config('enable_seqscan', $1, true)", ["off"]);
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

/** An id of a provider, and the quote it belongs to. */
export interface Link {
  id: string;
  quoteId: string;
}

/** Those of these ids that belong to quotes, with the quotes. */
export async function linksOf(tx: Tx, provider: ProviderName, ids: readonly string[]): Promise<Link[]> {
  return tx.query<Link>(
    `select external_id as id, quote_id as "quoteId" from provider_links
     where provider = $1 and external_id = any ($2) order by quote_id`,
    [provider, ids],
  );
}

/** Links ids of a provider to quotes; ids that belong to one stay there. Returns whether there was a new one. */
export async function linkIds(tx: Tx, provider: ProviderName, links: readonly Link[]): Promise<boolean> {
  const rows = await tx.query(
    `insert into provider_links (provider, external_id, quote_id)
     select distinct on (id) $1::text, id, quote_id from unnest($2::text[], $3::uuid[]) as linked (id, quote_id)
     order by id, quote_id
     on conflict (provider, external_id) do nothing returning 1 as one`,
    [provider, links.map(({ id }) => id), links.map(({ quoteId }) => quoteId)],
  );
  return rows.length > 0;
}

/** Reads the quotes that events are claimed for. */
const CLAIMING = {
  /** By their ids. */
  quotes: "select unnest($2::uuid[]) as id",
  /** By events that belong to them. */
  events: `select distinct quote_id as id from provider_events
    where provider = $1 and event_id = any ($2) and quote_id is not null`,
};

/**
 * Gives quotes the events that name one of their ids and belong to none yet, at most 1,000, and notes which of them are
 * payments of another sum than was quoted. Returns their ids of the provider, which belong to the quotes too.
 * @param by what `keys` are ids of
 */
export async function claimEvents(
  tx: Tx,
  provider: ProviderName,
  by: keyof typeof CLAIMING,
  keys: readonly string[],
): Promise<Link[]> {
  // Quote by quote, and the provider last: PostgreSQL reads the links of the quotes alone, by their index.
  const rows = await tx.query<{ ids: string[]; quoteId: string }>(
    `with claiming as materialized (${CLAIMING[by]}),
     named as materialized (
       select l.external_id from claiming q, lateral (
         select provider, external_id from provider_links where quote_id = q.id limit 10000) l
       where l.provider = $1),
     waiting as materialized (
       select ctid as row, provider from provider_events
       where quote_id is null and ids && array(select external_id from named))
     update provider_events e set (quote_id, reason) = (
       select q.quote_id, ${mismatch} from quotes q where q.quote_id = (
         select (array_agg(l.quote_id order by l.quote_id))[1] from provider_links l
         where l.provider = $1 and l.external_id = any (e.ids) and l.quote_id = any (array(select id from claiming))))
     where e.quote_id is null
       and e.ctid = any (array(select row from waiting where provider = $1 limit 1000))
     returning e.ids, e.quote_id as "quoteId"`,
    [provider, keys],
  );
  return rows.flatMap(({ ids, quoteId }) => ids.map((id) => ({ id, quoteId })));
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

/** Payments that granted nothing, newest first unless `sort` says otherwise. */
export async function unmatchedPayments(
  database: Pick<Database, "prepared">,
  { limit, offset, q = "", sort }: Page,
): Promise<{ rows: UnmatchedRow[] } & Total> {
  const direction = sort === "received_at" ? "asc" : "desc";
  const from = `from provider_events where reason is not null and ${containing(["event_id", "type"], "$1")}`;
  const [rows, counts] = await Promise.all([
    database.prepared<UnmatchedRow>(
      `billing-unmatched-${direction}`,
      `select provider, event_id as "eventId", type, amount::text, currency, received_at as "receivedAt", reason
       ${from} order by received_at ${direction}, provider, event_id limit $2 offset $3`,
      [q, limit, offset],
    ),
    database.prepared<{ counted: number }>(
      "billing-unmatched-count",
      boundedCount(`${from} order by received_at desc`),
      [q],
    ),
  ]);
  return { rows, ...totalOf(counts) };
}

/** An event that belongs to a quote and has not been given to it. */
export interface UnclaimedEvent {
  provider: ProviderName;
  eventId: string;
  ids: string[];
  /** As PostgreSQL writes it, to the microsecond. */
  receivedAt: string;
}

/**
 * Events that name an id of a quote and belong to none, because they came while it was being linked; oldest first, from
 * behind one of them on.
 */
export function unclaimedEvents(
  database: Pick<Database, "prepared">,
  after: UnclaimedEvent | undefined,
  limit: number,
): Promise<UnclaimedEvent[]> {
  return database.prepared<UnclaimedEvent>(
    "billing-unclaimed",
    `select e.provider, e.event_id as "eventId", e.ids, e.received_at::text as "receivedAt" from provider_events e
     where e.quote_id is null and e.received_at > '-infinity'
       and (e.received_at, e.provider, e.event_id) > ($2::timestamptz, $3, $4) and exists (
         select 1 from provider_links l where l.provider = e.provider and l.external_id = any (e.ids))
     order by e.received_at, e.provider, e.event_id limit $1`,
    [limit, after?.receivedAt ?? "-infinity", after?.provider ?? "", after?.eventId ?? ""],
  );
}

/**
 * Deletes a batch of events that belong to no purchase; returns how many. What says that money came or was paid back is
 * kept.
 * @param before when those were received that say nothing about payments
 * @param statedBefore when the others were received
 */
export async function deleteUnmatched(
  database: Pick<Database, "prepared">,
  before: Date,
  statedBefore: Date,
): Promise<number> {
  // Locked, so that an event stays that a purchase claims meanwhile.
  const sql = `delete from provider_events where ctid = any (array(
    select ctid from provider_events where quote_id is null and received_at > '-infinity' and received_at < $1
      and reason is null and (facts = '[]' or received_at < $2) limit 1000 for update skip locked))
    returning 1 as one`;
  return (await database.prepared("billing-events-tidy", sql, [before, statedBefore])).length;
}
