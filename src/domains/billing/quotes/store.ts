import type { Tx } from "../../../platform/db/types.ts";
import type { LeftCheckout } from "../checkout/leaving.ts";

/** A quote. */
export interface QuoteRow {
  quoteId: string;
  orgUuid: string;
  priceId: number | null;
  installId: string | null;
  /** What it pays for, of an install; null for a price, whose interval never changes. */
  interval: "month" | "year" | "once" | null;
  seats: number;
  currency: string;
  region: string;
  unitAmountCents: number;
  subtotalCents: number;
  taxCents: number;
  totalCents: number;
  /** Who asked for it: `type:id` of the principal. */
  issuedBy: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** Stores quotes. */
export function insertQuotes(tx: Tx, quotes: readonly QuoteRow[]): void {
  const all = <T>(member: (quote: QuoteRow) => T): T[] => quotes.map(member);
  tx.defer(
    `insert into quotes (quote_id, org_uuid, price_id, install_id, seats, currency, region, unit_amount_cents,
       subtotal_cents, tax_cents, total_cents, issued_by, issued_at, expires_at, interval)
     select * from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::uuid[], $5::integer[], $6::text[], $7::text[],
       $8::integer[], $9::integer[], $10::integer[], $11::integer[], $12::text[], $13::timestamptz[],
       $14::timestamptz[], $15::text[])`,
    [
      all(({ quoteId }) => quoteId),
      all(({ orgUuid }) => orgUuid),
      all(({ priceId }) => priceId),
      all(({ installId }) => installId),
      all(({ seats }) => seats),
      all(({ currency }) => currency),
      all(({ region }) => region),
      all(({ unitAmountCents }) => unitAmountCents),
      all(({ subtotalCents }) => subtotalCents),
      all(({ taxCents }) => taxCents),
      all(({ totalCents }) => totalCents),
      all(({ issuedBy }) => issuedBy),
      all(({ issuedAt }) => issuedAt),
      all(({ expiresAt }) => expiresAt),
      all(({ interval }) => interval),
    ],
  );
}

/**
 * Deletes a batch of quotes that expired before a time, of which no payment knows, with their checkouts; returns how
 * many, and the checkouts.
 */
export async function deleteExpiredQuotes(tx: Tx, before: Date): Promise<{ count: number; left: LeftCheckout[] }> {
  const [row] = await tx.query<{ count: number; left: LeftCheckout[] }>(
    `with old as (
       select quote_id from quotes q where consumed_at is null and expires_at < $1
         and not exists (select 1 from provider_events e where e.quote_id = q.quote_id)
         and not exists (select 1 from payments p where p.quote_id = q.quote_id)
         and not exists (select 1 from subscriptions s where s.quote_id = q.quote_id)
       limit 1000 for update skip locked),
     links as (delete from provider_links where quote_id in (select quote_id from old)),
     sessions as (
       delete from checkouts where quote_id in (select quote_id from old) returning provider, session_id),
     gone as (delete from quotes where quote_id in (select quote_id from old) returning 1)
     select (select count(*)::int from gone) as count, coalesce((
       select json_agg(json_build_object('provider', provider, 'session', session_id)) from sessions
       where session_id is not null), '[]') as left`,
    [before],
  );
  return row ?? { count: 0, left: [] };
}
