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
  /** What is sold, or the app. */
  product: string | null;
  consumedAt: Date | null;
}

/** Locks quotes with what they are for, in one order for all. */
export function lockPurchases(tx: Tx, quoteIds: readonly string[]): Promise<Purchase[]> {
  return tx.query<Purchase>(
    `select q.quote_id as "quoteId", q.org_uuid as "orgUuid", q.price_id as "priceId", q.install_id as "installId",
       q.seats, q.currency, q.total_cents as "totalCents", p.plan, coalesce(p.product, a.name) as product,
       q.consumed_at as "consumedAt"
     from quotes q left join prices p on p.price_id = q.price_id
       left join installs i on i.install_id = q.install_id left join apps a on a.app_id = i.app_id
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

/** Parts of statements that store rows of a table, which are given as JSON. */
function partsOf(table: string, others: readonly string[], changing: readonly string[]) {
  const [columns, changes] = [[...others, ...changing].join(", "), changing.join(", ")];
  const of = (row: string): string => changing.map((column) => `${row}.${column}`).join(", ");
  const rows = `json_populate_recordset(null::${table}, $1)`;
  return {
    rows,
    insert: `insert into ${table} (${columns}) select ${columns} from ${rows}`,
    /** A row that is as it was is not written again: each event brings all payments of its purchase. */
    change: (row: string) => `set (${changes}) = row (${of(row)})`,
    isChanged: (row: string) => `(${of(table)}) is distinct from (${of(row)})`,
  };
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

/** Until when an install is paid, and where. */
export interface PaidUntil {
  provider: string;
  /** Null for a single payment, which pays for good, and where no end is known. */
  until: Date | null;
}

/**
 * What pays an install the longest, of all its purchases: a single payment that was not paid back, else what ends last.
 * Undefined when nothing pays it.
 */
export async function paidUntil(tx: Tx, installId: string): Promise<PaidUntil | undefined> {
  const [row] = await tx.query<PaidUntil>(
    `select provider, case when isfinite(ends) then ends end as until from (
       select provider, coalesce(current_period_end, '-infinity') as ends from subscriptions where install_id = $1
       union all
       select y.provider, case when q.interval = 'once' then 'infinity' else coalesce(y.period_end, '-infinity') end
       from payments y join quotes q on q.quote_id = y.quote_id
       where y.install_id = $1 and y.subscription_id is null and y.status = 'paid' and q.consumed_at is not null
     ) paid order by ends desc, provider limit 1`,
    [installId],
  );
  return row;
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
const SUBSCRIPTIONS = partsOf("subscriptions", SUBSCRIPTION_KEYS, SUBSCRIPTION_CHANGES);
const PUT_SUBSCRIPTIONS = `${SUBSCRIPTIONS.insert}
  on conflict (quote_id) do update ${SUBSCRIPTIONS.change("excluded")} where ${SUBSCRIPTIONS.isChanged("excluded")}`;

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

/** A payment as it is stored. */
export interface KnownPayment {
  id: number;
  status: string;
}

/** The stored payments of quotes by the provider's ids. */
export async function knownPayments(tx: Tx, quoteIds: readonly string[]): Promise<Map<string, KnownPayment>> {
  const rows = await tx.query<KnownPayment & { externalId: string }>(
    `select id, external_id as "externalId", status from payments where quote_id = any ($1)`,
    [quoteIds],
  );
  return new Map(rows.map(({ externalId, ...known }) => [externalId, known]));
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
const PAYMENTS = partsOf("payments", PAYMENT_KEYS, PAYMENT_CHANGES);
const ADD_PAYMENTS = `${PAYMENTS.insert}
  on conflict (provider, external_id) do update ${PAYMENTS.change("excluded")} where ${PAYMENTS.isChanged("excluded")}`;
const CHANGE_PAYMENTS = `update payments ${PAYMENTS.change("stated")} from ${PAYMENTS.rows} stated
  where payments.id = any ($2) and payments.id = stated.id and ${PAYMENTS.isChanged("stated")}`;

/**
 * Stores payments as they are now. Those that are known are updated by their ids: an insert would use up an id for each
 * of them, conflict or not.
 */
export function putPayments(
  tx: Tx,
  provider: string,
  payments: readonly NewPayment[],
  known: ReadonlyMap<string, KnownPayment>,
  at: Date,
): void {
  const rows = payments.map(({ payment, purchase, subscriptionId, isFirst }) => ({
    id: known.get(payment.id)?.id,
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
  const [added, changed] = [rows.filter(({ id }) => id === undefined), rows.filter(({ id }) => id !== undefined)];
  if (added.length > 0) tx.defer(ADD_PAYMENTS, [JSON.stringify(added)]);
  if (changed.length > 0) tx.defer(CHANGE_PAYMENTS, [JSON.stringify(changed), changed.map(({ id }) => id)]);
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
