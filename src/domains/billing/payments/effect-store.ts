import type { Tx } from "../../../platform/db/types.ts";
import type { FoldedPayment } from "./fold.ts";
import { subscriptionColumns } from "./store.ts";
import type { SubscriptionRow } from "./store.ts";

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

/** Locks quotes with what they are for, in one order for all. */
export function lockPurchases(tx: Tx, quoteIds: readonly string[]): Promise<Purchase[]> {
  return tx.query<Purchase>(
    `select q.quote_id as "quoteId", q.org_uuid as "orgUuid", q.price_id as "priceId", q.install_id as "installId",
       q.seats, q.currency, q.total_cents as "totalCents", p.plan, p.product, q.consumed_at as "consumedAt"
     from quotes q left join prices p on p.price_id = q.price_id
     where q.quote_id = any ($1) order by q.org_uuid, q.quote_id for no key update of q`,
    [quoteIds],
  );
}

/** Marks locked quotes as paid, each at its time. */
export function consumeQuotes(tx: Tx, paid: readonly { quoteId: string; at: Date }[]): void {
  if (paid.length === 0) return;
  // No condition on `consumed_at`: PostgreSQL might read all quotes that are not paid instead of these.
  tx.defer(
    `update quotes q set consumed_at = p.at from unnest($1::uuid[], $2::timestamptz[]) as p (id, at)
     where q.quote_id = p.id`,
    [paid.map(({ quoteId }) => quoteId), paid.map(({ at }) => at)],
  );
}

/**
 * Stores rows that are given as JSON: new ones, and the changes of others. A row that is as it was is not written
 * again: each event brings all payments of its purchase.
 */
function putSql(table: string, key: string, others: readonly string[], changing: readonly string[]): string {
  const [columns, changes] = [[...others, ...changing].join(", "), changing.join(", ")];
  const of = (row: string): string => changing.map((column) => `${row}.${column}`).join(", ");
  return `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)
    on conflict (${key}) do update set (${changes}) = row (${of("excluded")})
    where (${of(table)}) is distinct from (${of("excluded")})`;
}

/** The subscriptions of quotes, by quote. */
export async function subscriptionsOfQuotes(
  tx: Tx,
  quoteIds: readonly string[],
): Promise<Map<string, SubscriptionRow>> {
  const sql = `select quote_id as "quoteId", ${subscriptionColumns} from subscriptions where quote_id = any ($1)`;
  const rows = await tx.query<SubscriptionRow & { quoteId: string }>(sql, [quoteIds]);
  return new Map(rows.map(({ quoteId, ...row }) => [quoteId, row]));
}

/** A subscription to store, with its purchase. */
export interface BoughtSubscription {
  row: SubscriptionRow;
  purchase: Purchase;
}

/** Whether another purchase than this one pays an install beyond a time. */
export async function isPaidLonger(tx: Tx, installId: string, quoteId: string, until: Date): Promise<boolean> {
  const sql = `select 1 as one from subscriptions
    where install_id = $1 and quote_id <> $2 and current_period_end > $3 limit 1`;
  return (await tx.query(sql, [installId, quoteId, until])).length > 0;
}

/** Columns of subscriptions that events may change, and the others. */
const SUBSCRIPTION_CHANGES = [
  "external_id",
  "status",
  "current_period_start",
  "current_period_end",
  "cancel_at_period_end",
  "created_at",
];
const SUBSCRIPTION_KEYS = [
  "subscription_id",
  "org_uuid",
  "quote_id",
  "provider",
  "price_id",
  "plan",
  "install_id",
  "seats",
];
const PUT_SUBSCRIPTIONS = putSql("subscriptions", "quote_id", SUBSCRIPTION_KEYS, SUBSCRIPTION_CHANGES);

/** Stores the subscriptions of quotes as they are now. */
export function putSubscriptions(tx: Tx, bought: readonly BoughtSubscription[]): void {
  if (bought.length === 0) return;
  const rows = bought.map(({ row, purchase: { orgUuid, quoteId } }) => ({
    subscription_id: row.subscriptionId,
    org_uuid: orgUuid,
    quote_id: quoteId,
    provider: row.provider,
    external_id: row.externalId,
    price_id: row.priceId,
    plan: row.plan,
    install_id: row.installId,
    seats: row.seats,
    status: row.status,
    current_period_start: row.currentPeriodStart,
    current_period_end: row.currentPeriodEnd,
    cancel_at_period_end: row.cancelAtPeriodEnd,
    created_at: row.createdAt,
  }));
  tx.defer(PUT_SUBSCRIPTIONS, [JSON.stringify(rows)]);
}

/** Statuses of the payments of quotes by the provider's ids. */
export async function paymentStatuses(tx: Tx, quoteIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ externalId: string; status: string }>(
    `select external_id as "externalId", status from payments where quote_id = any ($1)`,
    [quoteIds],
  );
  return new Map(rows.map(({ externalId, status }) => [externalId, status]));
}

/** A payment to store. */
export interface NewPayment {
  payment: FoldedPayment;
  purchase: Purchase;
  subscriptionId: string | null;
  /** Whether it is the one that the quote was paid by. */
  isFirst: boolean;
}

/** Columns of payments that events may change, and the others. */
const PAYMENT_CHANGES = [
  "first",
  "status",
  "subscription_id",
  "amount",
  "currency",
  "refunded_amount",
  "description",
  "invoice_id",
  "invoice_url",
  "period_start",
  "period_end",
];
const PAYMENT_KEYS = ["org_uuid", "provider", "external_id", "quote_id", "install_id", "created_at"];
const PUT_PAYMENTS = putSql("payments", "provider, external_id", PAYMENT_KEYS, PAYMENT_CHANGES);

/** Stores payments as they are now. */
export function putPayments(tx: Tx, provider: string, payments: readonly NewPayment[], at: Date): void {
  if (payments.length === 0) return;
  const rows = payments.map(({ payment, purchase, subscriptionId, isFirst }) => ({
    org_uuid: purchase.orgUuid,
    provider,
    external_id: payment.id,
    quote_id: purchase.quoteId,
    install_id: purchase.installId,
    created_at: at,
    first: isFirst,
    status: payment.status,
    subscription_id: subscriptionId,
    amount: payment.amount,
    currency: payment.currency,
    refunded_amount: payment.refunded,
    description: payment.description ?? purchase.product,
    invoice_id: payment.invoiceId,
    invoice_url: payment.invoiceUrl,
    period_start: payment.periodStart,
    period_end: payment.periodEnd,
  }));
  tx.defer(PUT_PAYMENTS, [JSON.stringify(rows)]);
}

/** The plan that each of these organizations paid for last, by a live subscription or a single payment. */
export async function paidPlans(tx: Tx, orgUuids: readonly string[]): Promise<Map<string, string | undefined>> {
  // Subselects and no joins: the newest purchases are read until one counts, whatever PostgreSQL knows of the tables.
  const rows = await tx.query<{ orgUuid: string; plan: string | null }>(
    `select o.uuid as "orgUuid", (
       select plan from (
         (select plan, created_at as at, subscription_id as tie from subscriptions
          where org_uuid = o.uuid and status <> 'canceled' and plan is not null
          order by created_at desc, subscription_id limit 1)
         union all
         (select plan, at, tie from (
            select (select plan from prices p where p.price_id = q.price_id and p.interval = 'once') as plan,
              q.consumed_at as at, q.quote_id as tie
            from quotes q where q.org_uuid = o.uuid and q.consumed_at is not null and q.price_id is not null
              and (select 1 from payments y where y.quote_id = q.quote_id and y.status = 'paid' limit 1) is not null
          ) paid where plan is not null order by at desc, tie limit 1)
       ) bought order by at desc, tie limit 1) as plan
     from unnest($1::uuid[]) as o (uuid)`,
    [orgUuids],
  );
  return new Map(rows.map(({ orgUuid, plan }) => [orgUuid, plan ?? undefined]));
}
