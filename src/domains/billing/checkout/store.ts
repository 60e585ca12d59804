import { SKIP_REAUTHORIZATION } from "../../../platform/db/types.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { ProviderName } from "../providers/index.ts";

/** A quote to check out, with its checkout where there is one. */
export interface QuoteToPay {
  quoteId: string;
  seats: number;
  currency: string;
  unitAmountCents: number;
  taxCents: number;
  totalCents: number;
  expiresAt: Date;
  consumedAt: Date | null;
  product: string | null;
  interval: "month" | "year" | "once" | null;
  provider: ProviderName | null;
  sessionId: string | null;
  url: string | null;
  sessionExpiresAt: Date | null;
  /** Whether the person has completed the session, although the payment may be still to come. */
  isCompleted: boolean;
  /** Whether the install that it is for has ended: nobody pays for it any more. */
  isInstallEnded: boolean;
}

/** A quote of an organization; undefined when there is none. */
export async function findQuote(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  quoteId: string,
): Promise<QuoteToPay | undefined> {
  const [row] = await database.prepared<QuoteToPay>(
    "checkout-quote",
    `select q.quote_id as "quoteId", q.seats, q.currency, q.unit_amount_cents as "unitAmountCents",
       q.tax_cents as "taxCents", q.total_cents as "totalCents", q.expires_at as "expiresAt",
       q.consumed_at as "consumedAt", p.product, coalesce(q.interval, p.interval) as interval, c.provider,
       c.session_id as "sessionId", c.url, c.expires_at as "sessionExpiresAt", exists (
         select 1 from provider_events e where e.quote_id = q.quote_id and e.type = 'checkout.session.completed'
       ) as "isCompleted", exists (
         select 1 from installs i
         where i.install_id = q.install_id and i.status in ('deprovisioning', 'deprovisioned')
       ) as "isInstallEnded"
     from quotes q left join prices p on p.price_id = q.price_id left join checkouts c on c.quote_id = q.quote_id
     where q.quote_id = $1 and q.org_uuid = $2`,
    [quoteId, orgUuid],
  );
  return row;
}

/**
 * Claims the checkout of a quote for one request; false when another holds the claim or has made the session. A claim
 * that led to nothing, as after a crash, is free after `staleBefore`.
 */
export async function claimCheckout(
  tx: Tx,
  quoteId: string,
  orgUuid: string,
  provider: ProviderName,
  { at, staleBefore, expiresAt }: { at: Date; staleBefore: Date; expiresAt: Date },
): Promise<boolean> {
  const rows = await tx.query(
    `insert into checkouts (quote_id, org_uuid, provider, claimed_at, expires_at) values ($1, $2, $3, $4, $5)
     on conflict (quote_id) do update set provider = excluded.provider, claimed_at = excluded.claimed_at,
       expires_at = excluded.expires_at
     where checkouts.session_id is null and checkouts.claimed_at < $6 returning 1 as one`,
    [quoteId, orgUuid, provider, at, expiresAt, staleBefore],
  );
  return rows.length > 0;
}

/** Stores the session of a claimed checkout, and links it. */
export async function storeSession(
  tx: Tx,
  quoteId: string,
  provider: ProviderName,
  session: { id: string; url: string | null },
): Promise<void> {
  await tx.query("update checkouts set session_id = $2, url = $3 where quote_id = $1", [
    quoteId,
    session.id,
    session.url,
  ]);
  await tx.query(
    `insert into provider_links (provider, external_id, quote_id) values ($1, $2, $3)
     on conflict (provider, external_id) do nothing`,
    [provider, session.id, quoteId],
  );
}

/** Frees a claim whose call failed. */
export async function freeClaim(database: Pick<Database, "transaction">, quoteId: string): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query("delete from checkouts where quote_id = $1 and session_id is null", [quoteId]);
  }, SKIP_REAUTHORIZATION);
}
