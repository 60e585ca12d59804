import { SKIP_REAUTHORIZATION } from "../../../platform/db/types.ts";
import { present, presentPlus } from "../../../platform/db/time.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import { endsByItself } from "../providers/index.ts";
import type { ProviderName } from "../providers/index.ts";
import type { LeftCheckout } from "./leaving.ts";

/** The customer of an organization alone at a provider; undefined where none is known. */
export async function customerOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  provider: ProviderName,
): Promise<string | undefined> {
  const sql = `select customer_id as "customerId" from billing_customers b where provider = $1 and org_uuid = $2
    and not exists (select 1 from customer_organizations c
      where c.provider = b.provider and c.customer_id = b.customer_id and c.org_uuid <> b.org_uuid)`;
  const rows = await database.prepared<{ customerId: string }>("checkout-customer", sql, [provider, orgUuid]);
  return rows[0]?.customerId;
}

/**
 * Stores the customer that was made for an organization at a provider. One that was stored meanwhile stays, unless it
 * is `gone` or another organization's as well.
 */
export async function putCustomer(
  tx: Tx,
  orgUuid: string,
  provider: ProviderName,
  customerId: string,
  gone: string | undefined,
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into billing_customers as b (provider, org_uuid, customer_id, seen_at) values ($1, $2, $3, $4)
     on conflict (provider, org_uuid) do update set customer_id = excluded.customer_id, seen_at = excluded.seen_at
     where b.customer_id = $5 or exists (
       select 1 from customer_organizations c
       where c.provider = b.provider and c.customer_id = b.customer_id and c.org_uuid <> b.org_uuid)`,
    [provider, orgUuid, customerId, at, gone ?? null],
  );
}

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
  /** What is sold, or the app. */
  product: string | null;
  interval: "month" | "year" | "once" | null;
  provider: ProviderName | null;
  sessionId: string | null;
  url: string | null;
  sessionExpiresAt: Date | null;
  /** Whether the person has completed the session, although the payment may be still to come. */
  isCompleted: boolean;
  /** The install that it is for. */
  installId: string | null;
  /** Whether that install has ended: nobody pays for it any more. */
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
       q.consumed_at as "consumedAt", coalesce(p.product, a.name) as product,
       coalesce(q.interval, p.interval) as interval, c.provider, c.session_id as "sessionId", c.url,
       c.expires_at as "sessionExpiresAt", q.install_id as "installId", exists (
         select 1 from provider_events e where e.quote_id = q.quote_id and e.type = 'checkout.session.completed'
       ) as "isCompleted", coalesce(i.status in ('deprovisioning', 'deprovisioned'), false) as "isInstallEnded"
     from quotes q left join prices p on p.price_id = q.price_id left join checkouts c on c.quote_id = q.quote_id
       left join installs i on i.install_id = q.install_id left join apps a on a.app_id = i.app_id
     where q.quote_id = $1 and q.org_uuid = $2`,
    [quoteId, orgUuid],
  );
  return row;
}

/** A claim of a checkout. */
export interface Claim {
  quoteId: string;
  provider: ProviderName;
  /** By the database's clock. Tells this claim from others of the quote. */
  at: Date;
  /** When the session to make ends. */
  expiresAt: Date;
}

/**
 * Claims the checkout of a quote for one request; undefined when another holds the claim or has made the session. A
 * claim that led to nothing, as after a crash, is free after `claimMs`.
 * @param now a {@link databaseTime}
 * @param endedSession a session of the quote that has ended and is replaced; it stays linked
 */
export async function claimCheckout(
  tx: Tx,
  { quoteId, provider, expiresAt }: Omit<Claim, "at">,
  orgUuid: string,
  { now, claimMs }: { now: Date | null; claimMs: number },
  endedSession: string | null,
): Promise<Claim | undefined> {
  const rows = await tx.query<{ at: Date }>(
    `insert into checkouts (quote_id, org_uuid, provider, claimed_at, expires_at)
     values ($1, $2, $3, ${present("$4")}, $5)
     on conflict (quote_id) do update set provider = excluded.provider, claimed_at = excluded.claimed_at,
       expires_at = excluded.expires_at, session_id = null, url = null
     where checkouts.session_id = $7
       or (checkouts.session_id is null and checkouts.claimed_at < ${presentPlus("$4", "-$6")})
     returning claimed_at as at`,
    [quoteId, orgUuid, provider, now, expiresAt, claimMs, endedSession],
  );
  return rows[0] && { quoteId, provider, at: rows[0].at, expiresAt };
}

/** Stores the session of a claimed checkout, and links it; false when another request has claimed it since. */
export async function storeSession(
  tx: Tx,
  { quoteId, provider, at }: Claim,
  session: { id: string; url: string | null },
): Promise<boolean> {
  const stored = await tx.query(
    `update checkouts set session_id = $2, url = $3
     where quote_id = $1 and session_id is null and claimed_at = $4 returning 1 as one`,
    [quoteId, session.id, session.url, at],
  );
  if (stored.length === 0) return false;
  await tx.query(
    `insert into provider_links (provider, external_id, quote_id) values ($1, $2, $3)
     on conflict (provider, external_id) do nothing`,
    [provider, session.id, quoteId],
  );
  return true;
}

/**
 * Checkouts of an organization, or of one of its installs, that nobody has paid and that can be paid at a time, the
 * newest.
 */
export async function openCheckouts(
  tx: Tx,
  orgUuid: string,
  at: Date,
  installId: string | null = null,
): Promise<LeftCheckout[]> {
  const rows = await tx.query<LeftCheckout & { isPastEnd: boolean }>(
    `select c.provider, c.session_id as session, c.expires_at <= $2 as "isPastEnd"
     from checkouts c join quotes q on q.quote_id = c.quote_id
     where c.org_uuid = $1 and c.session_id is not null and q.consumed_at is null
       and ($3::uuid is null or q.install_id = $3)
     order by c.claimed_at desc limit 1000`,
    [orgUuid, at, installId],
  );
  return rows
    .filter(({ provider, isPastEnd }) => !isPastEnd || !endsByItself(provider))
    .map(({ provider, session }) => ({ provider, session }));
}

/** Frees a claim whose call failed. */
export async function freeClaim(
  database: Pick<Database, "transaction">,
  { quoteId, at }: Pick<Claim, "quoteId" | "at">,
): Promise<void> {
  const sql = "delete from checkouts where quote_id = $1 and session_id is null and claimed_at = $2";
  await database.transaction(async (tx) => {
    await tx.query(sql, [quoteId, at]);
  }, SKIP_REAUTHORIZATION);
}
