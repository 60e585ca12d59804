import type { Database, Tx } from "../../../platform/db/types.ts";

/** A quote. */
export interface QuoteRow {
  quoteId: string;
  orgUuid: string;
  priceId: number | null;
  installId: string | null;
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

/** Stores a quote. */
export function insertQuote(tx: Tx, quote: QuoteRow): void {
  tx.defer(
    `insert into quotes (quote_id, org_uuid, price_id, install_id, seats, currency, region, unit_amount_cents,
       subtotal_cents, tax_cents, total_cents, issued_by, issued_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      quote.quoteId,
      quote.orgUuid,
      quote.priceId,
      quote.installId,
      quote.seats,
      quote.currency,
      quote.region,
      quote.unitAmountCents,
      quote.subtotalCents,
      quote.taxCents,
      quote.totalCents,
      quote.issuedBy,
      quote.issuedAt,
      quote.expiresAt,
    ],
  );
}

/** Deletes a batch of quotes that expired before a time and were never paid; returns how many. */
export async function deleteExpiredQuotes(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const sql = `delete from quotes where quote_id in (
    select quote_id from quotes where consumed_at is null and expires_at < $1 limit 1000) returning 1 as one`;
  return (await database.prepared("quotes-tidy", sql, [before])).length;
}
