import type { CursorPaging } from "../../../platform/cursors.ts";
import { createdAt, readList } from "../../../platform/db/list.ts";
import type { Listed } from "../../../platform/db/list.ts";
import type { Page } from "../../../platform/db/paging.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { FoldedPayment } from "./fold.ts";

type Reader = Pick<Database, "prepared">;

/** What was bought, as effects need it. */
export interface Purchase {
  quoteId: string;
  orgUuid: string;
  priceId: number | null;
  installId: string | null;
  seats: number;
  currency: string;
  totalCents: number;
  plan: string | null;
  product: string | null;
  consumedAt: Date | null;
}

/** Locks a quote with what it is for. */
export async function lockPurchase(tx: Tx, quoteId: string): Promise<Purchase | undefined> {
  const [row] = await tx.query<Purchase>(
    `select q.quote_id as "quoteId", q.org_uuid as "orgUuid", q.price_id as "priceId", q.install_id as "installId",
       q.seats, q.currency, q.total_cents as "totalCents", p.plan, p.product, q.consumed_at as "consumedAt"
     from quotes q left join prices p on p.price_id = q.price_id where q.quote_id = $1 for update of q`,
    [quoteId],
  );
  return row;
}

/** Marks a quote as paid. */
export async function consumeQuote(tx: Tx, quoteId: string, at: Date): Promise<void> {
  await tx.query("update quotes set consumed_at = $2 where quote_id = $1 and consumed_at is null", [quoteId, at]);
}

/** A subscription. */
export interface SubscriptionRow {
  subscriptionId: string;
  provider: string;
  externalId: string;
  priceId: number | null;
  plan: string | null;
  installId: string | null;
  seats: number;
  status: "active" | "past_due" | "canceled";
  currentPeriodStart: Date | null;
  currentPeriodEnd: Date | null;
  cancelAtPeriodEnd: boolean;
  createdAt: Date;
}

const subscriptionColumns = `subscription_id as "subscriptionId", provider, external_id as "externalId",
  price_id as "priceId", plan, install_id as "installId", seats, status, current_period_start as "currentPeriodStart",
  current_period_end as "currentPeriodEnd", cancel_at_period_end as "cancelAtPeriodEnd", created_at as "createdAt"`;

/** The subscription of a quote. */
export async function subscriptionOfQuote(tx: Tx, quoteId: string): Promise<SubscriptionRow | undefined> {
  const sql = `select ${subscriptionColumns} from subscriptions where quote_id = $1`;
  return (await tx.query<SubscriptionRow>(sql, [quoteId]))[0];
}

/** Stores the subscription of a quote as it is now. */
export async function putSubscription(tx: Tx, orgUuid: string, quoteId: string, row: SubscriptionRow): Promise<void> {
  await tx.query(
    `insert into subscriptions (subscription_id, org_uuid, quote_id, provider, external_id, price_id, plan, install_id,
       seats, status, current_period_start, current_period_end, cancel_at_period_end, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     on conflict (quote_id) do update set external_id = excluded.external_id, status = excluded.status,
       current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end,
       cancel_at_period_end = excluded.cancel_at_period_end`,
    [
      row.subscriptionId,
      orgUuid,
      quoteId,
      row.provider,
      row.externalId,
      row.priceId,
      row.plan,
      row.installId,
      row.seats,
      row.status,
      row.currentPeriodStart,
      row.currentPeriodEnd,
      row.cancelAtPeriodEnd,
      row.createdAt,
    ],
  );
}

/** Subscriptions of an organization, newest first. */
export function subscriptionsOf(
  database: Reader,
  orgUuid: string,
  status: string | undefined,
  page: Page,
): Promise<Listed<SubscriptionRow>> {
  const from = "from subscriptions where org_uuid = $1 and ($2::text is null or status = $2)";
  const sort = { created_at: createdAt() };
  const id = { sql: "subscription_id", type: "uuid" } as const;
  const q = ["coalesce(plan, '')"];
  const list = { name: "subscriptions", columns: subscriptionColumns, from, params: [orgUuid, status], id, q, sort };
  return readList(database, { ...list, order: "-created_at" }, page);
}

/** A subscription of an organization. */
export async function findSubscription(
  database: Reader,
  orgUuid: string,
  id: string,
): Promise<SubscriptionRow | undefined> {
  const sql = `select ${subscriptionColumns} from subscriptions where subscription_id = $1 and org_uuid = $2`;
  return (await database.prepared<SubscriptionRow>("subscription-read", sql, [id, orgUuid]))[0];
}

/** Notes that a subscription ends with its period; returns it, undefined when there is none that lives. */
export async function markEnding(tx: Tx, orgUuid: string, id: string): Promise<SubscriptionRow | undefined> {
  const sql = `update subscriptions set cancel_at_period_end = true
    where subscription_id = $1 and org_uuid = $2 and status <> 'canceled' returning ${subscriptionColumns}`;
  return (await tx.query<SubscriptionRow>(sql, [id, orgUuid]))[0];
}

/** A payment. */
export interface PaymentRow {
  id: number;
  externalId: string;
  amount: number;
  currency: string;
  status: "paid" | "failed" | "refunded";
  refundedAmount: number;
  provider: string;
  description: string | null;
  quoteId: string | null;
  subscriptionId: string | null;
  installId: string | null;
  invoiceId: string | null;
  invoiceUrl: string | null;
  periodStart: Date | null;
  periodEnd: Date | null;
  createdAt: Date;
}

/** Payments of an organization, newest first; renewals name no quote. */
export function paymentsOf(
  database: Reader,
  orgUuid: string,
  status: string | undefined,
  page: Page,
  paging?: CursorPaging,
): Promise<Listed<PaymentRow>> {
  const columns = `id, external_id as "externalId", amount, currency, status, refunded_amount as "refundedAmount",
    provider, description, case when first then quote_id end as "quoteId", subscription_id as "subscriptionId",
    install_id as "installId", invoice_id as "invoiceId", invoice_url as "invoiceUrl",
    period_start as "periodStart", period_end as "periodEnd", created_at as "createdAt"`;
  const from = "from payments where org_uuid = $1 and ($2::text is null or status = $2)";
  const sort = { created_at: createdAt() };
  const id = { sql: "id", type: "integer" } as const;
  const q = ["coalesce(description, '')"];
  const list = { name: "payments", columns, from, params: [orgUuid, status], id, q, sort };
  return readList(database, { ...list, order: "-created_at", ties: "with" }, page, paging);
}

/** Statuses of the payments of a quote by the provider's ids. */
export async function paymentStatuses(tx: Tx, quoteId: string): Promise<Map<string, string>> {
  const rows = await tx.query<{ externalId: string; status: string }>(
    `select external_id as "externalId", status from payments where quote_id = $1`,
    [quoteId],
  );
  return new Map(rows.map(({ externalId, status }) => [externalId, status]));
}

/** Stores a payment as it is now. */
export async function putPayment(
  tx: Tx,
  provider: string,
  { orgUuid, quoteId, installId, product }: Purchase,
  payment: FoldedPayment,
  subscriptionId: string | null,
  isFirst: boolean,
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into payments (org_uuid, provider, external_id, quote_id, first, subscription_id, install_id, amount,
       currency, status, refunded_amount, description, invoice_id, invoice_url, period_start, period_end, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
     on conflict (provider, external_id) do update set first = excluded.first, status = excluded.status,
       subscription_id = excluded.subscription_id, amount = excluded.amount, currency = excluded.currency,
       refunded_amount = excluded.refunded_amount, description = excluded.description,
       invoice_id = excluded.invoice_id, invoice_url = excluded.invoice_url, period_start = excluded.period_start,
       period_end = excluded.period_end`,
    [
      orgUuid,
      provider,
      payment.id,
      quoteId,
      isFirst,
      subscriptionId,
      installId,
      payment.amount,
      payment.currency,
      payment.status,
      payment.refunded,
      payment.description ?? product,
      payment.invoiceId ?? null,
      payment.invoiceUrl ?? null,
      payment.periodStart ?? null,
      payment.periodEnd ?? null,
      at,
    ],
  );
}

/** The plan that an organization paid for last, by a live subscription or a single payment; undefined for none. */
export async function paidPlan(tx: Tx, orgUuid: string): Promise<string | undefined> {
  // Subselects and no joins: the newest purchases are read until one counts, whatever PostgreSQL knows of the tables.
  const rows = await tx.query<{ plan: string }>(
    `(select plan, created_at as at, subscription_id as tie from subscriptions
      where org_uuid = $1 and status <> 'canceled' and plan is not null
      order by created_at desc, subscription_id limit 1)
     union all
     (select plan, at, tie from (
        select (select plan from prices p where p.price_id = q.price_id and p.interval = 'once') as plan,
          q.consumed_at as at, q.quote_id as tie
        from quotes q where q.org_uuid = $1 and q.consumed_at is not null and q.price_id is not null
          and (select 1 from payments y where y.quote_id = q.quote_id and y.status = 'paid' limit 1) is not null) paid
      where plan is not null order by at desc, tie limit 1)
     order by at desc, tie limit 1`,
    [orgUuid],
  );
  return rows[0]?.plan;
}
