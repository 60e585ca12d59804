import type { CursorPaging } from "../../../platform/cursors.ts";
import { createdAt, readList } from "../../../platform/db/list.ts";
import type { Listed } from "../../../platform/db/list.ts";
import type { Page } from "../../../platform/db/paging.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";

type Reader = Pick<Database, "prepared">;

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
  /** When its end was requested here; null where nobody did. */
  endingRequestedAt: Date | null;
  /** When its first payment was made, by the provider's clock. */
  createdAt: Date;
}

/** Columns of a {@link SubscriptionRow}. */
export const subscriptionColumns = `subscription_id as "subscriptionId", provider, external_id as "externalId",
  price_id as "priceId", plan, install_id as "installId", seats, status, current_period_start as "currentPeriodStart",
  current_period_end as "currentPeriodEnd", cancel_at_period_end as "cancelAtPeriodEnd",
  ending_requested_at as "endingRequestedAt", created_at as "createdAt"`;

/** The rows of an organization in a table, with a status or all. */
function ofStatus(table: string, orgUuid: string, status: string | undefined): { from: string; params: unknown[] } {
  const from = `from ${table} where org_uuid = $1`;
  return status === undefined
    ? { from, params: [orgUuid] }
    : { from: `${from} and status = $2`, params: [orgUuid, status] };
}

/** Subscriptions of an organization, newest first. */
export function subscriptionsOf(
  database: Reader,
  orgUuid: string,
  status: string | undefined,
  page: Page,
): Promise<Listed<SubscriptionRow>> {
  const { from, params } = ofStatus("subscriptions", orgUuid, status);
  const sort = { created_at: createdAt() };
  const id = { sql: "subscription_id", type: "uuid" } as const;
  const q = ["plan"];
  const list = { name: "subscriptions", columns: subscriptionColumns, from, params, id, q, sort };
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
export async function markEnding(tx: Tx, orgUuid: string, id: string, at: Date): Promise<SubscriptionRow | undefined> {
  const sql = `update subscriptions set cancel_at_period_end = true, ending_requested_at = $3
    where subscription_id = $1 and org_uuid = $2 and status <> 'canceled' returning ${subscriptionColumns}`;
  return (await tx.query<SubscriptionRow>(sql, [id, orgUuid, at]))[0];
}

/** Locks the purchase of a subscription, as those who apply its events do. */
export async function lockPurchaseOf(tx: Tx, orgUuid: string, id: string): Promise<void> {
  await tx.query(
    `select 1 as one from quotes where quote_id = (
       select quote_id from subscriptions where subscription_id = $1 and org_uuid = $2) for no key update`,
    [id, orgUuid],
  );
}

/** Ends a subscription now, as requested here; returns it, undefined when there is none that lives. */
export async function markCanceled(
  tx: Tx,
  orgUuid: string,
  id: string,
  at: Date,
): Promise<SubscriptionRow | undefined> {
  const sql = `update subscriptions
    set status = 'canceled', cancel_at_period_end = true, ending_requested_at = $3
    where subscription_id = $1 and org_uuid = $2 and status <> 'canceled' returning ${subscriptionColumns}`;
  return (await tx.query<SubscriptionRow>(sql, [id, orgUuid, at]))[0];
}

/** Ids of the subscriptions of an install that live and do not end with their period. */
export async function renewingOfInstall(tx: Tx, orgUuid: string, installId: string, limit: number): Promise<string[]> {
  const sql = `select subscription_id as id from subscriptions
    where org_uuid = $1 and install_id = $2 and status <> 'canceled' and not cancel_at_period_end
    order by subscription_id limit $3`;
  return (await tx.query<{ id: string }>(sql, [orgUuid, installId, limit])).map(({ id }) => id);
}

/** Ids of an organization's subscriptions that live and do not end with their period, in order, after one of them. */
export async function renewingSubscriptions(
  tx: Tx,
  orgUuid: string,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const sql = `select subscription_id as id from subscriptions
    where org_uuid = $1 and status <> 'canceled' and not cancel_at_period_end
      and ($2::uuid is null or subscription_id > $2)
    order by subscription_id limit $3`;
  return (await tx.query<{ id: string }>(sql, [orgUuid, after, limit])).map(({ id }) => id);
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
  const { from, params } = ofStatus("payments", orgUuid, status);
  const sort = { created_at: createdAt() };
  const id = { sql: "id", type: "integer" } as const;
  const q = ["description"];
  const list = { name: "payments", columns, from, params, id, q, sort };
  return readList(database, { ...list, order: "-created_at", ties: "with" }, page, paging);
}
