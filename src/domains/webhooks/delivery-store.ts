import type { CursorPaging } from "../../platform/cursors.ts";
import { containing } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import { boundedCount, totalOf } from "../../platform/db/total.ts";
import { present } from "../../platform/db/time.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { currentTraceparent } from "../../platform/tracing.ts";
import type { AttemptRecord } from "./store.ts";

/** A delivery as the contract shows it. */
export interface DeliveryRow {
  deliveryId: string;
  eventId: string;
  eventType: string;
  status: "pending" | "delivered" | "failed";
  attempts: AttemptRecord[];
  nextAttemptAt: Date | null;
  createdAt: Date;
}

/** Condition of a delivery of an earlier generation: it has failed, though its row is pending until the cleanup. */
const isOver = "(d.status = 'pending' and d.generation < w.generation)";
/** Columns of a {@link DeliveryRow} of the delivery `d` of the webhook `w` with the event `e`. */
export const DELIVERY_COLUMNS = `d.delivery_id as "deliveryId", d.event_id as "eventId", e.type as "eventType",
  case when ${isOver} then 'failed' else d.status end as status, d.attempts,
  case when not ${isOver} then d.next_attempt_at end as "nextAttemptAt", d.created_at as "createdAt"`;
const newestFirst = "order by created_at desc, delivery_id";

/** Conditions of the deliveries of the webhook `w` by status; each part is in the order of an index. */
const settled = (status: string): string =>
  `d.webhook_id = w.webhook_id and d.status = '${status}' and d.generation = 0`;
const open = "d.webhook_id = w.webhook_id and d.status = 'pending' and d.generation = w.generation";
const over = "d.webhook_id = w.webhook_id and d.status = 'pending' and d.generation = earlier.generation";
/** Earlier generations of the webhook that have deliveries left: a skip scan, one index look-up each. */
const earlier = `(with recursive generations as (
    (select generation from webhook_deliveries
     where webhook_id = $1 and status = 'pending'
       and generation < (select generation from webhooks where webhook_id = $1)
     order by generation limit 1)
    union all
    select (select d.generation from webhook_deliveries d
      where d.webhook_id = $1 and d.status = 'pending' and d.generation > generations.generation
        and d.generation < (select generation from webhooks where webhook_id = $1)
      order by d.generation limit 1)
    from generations where generations.generation is not null
  ) select generation from generations where generation is not null) earlier`;

/** Deliveries of the webhook `w` in the order of the lists. */
export interface Part {
  from: string;
  where: string;
}

/** Deliveries of the webhook $1 by status. */
export const PARTS = {
  pending: [{ from: "webhooks w", where: open }],
  delivered: [{ from: "webhooks w", where: settled("delivered") }],
  failed: [
    { from: "webhooks w", where: settled("failed") },
    { from: `webhooks w, ${earlier}`, where: over },
  ],
} as const satisfies Readonly<Record<DeliveryRow["status"], readonly Part[]>>;

/** SQL of the first rows of a part in an order; at most `limit` of each generation. */
export const firstOf = ({ from, where }: Part, limit: string, order = newestFirst): string => `select d.*
  from ${from} cross join lateral (
    select d.delivery_id, d.created_at from webhook_deliveries d
    where ${where} ${order} limit ${limit}) d where w.webhook_id = $1`;

const searched = (param: string): string => `exists (select from webhook_events e
  where e.event_id = d.event_id and ${containing(["e.event_id", "e.type"], param)})`;

/** Deliveries of a webhook, by default newest first. The cost depends on the page, not on the number of deliveries. */
export async function deliveriesOf(
  database: Pick<Database, "prepared">,
  webhookId: string,
  status: DeliveryRow["status"] | undefined,
  { limit, offset, q, sort }: Page,
  paging?: CursorPaging,
): Promise<Listed<DeliveryRow>> {
  const ascending = sort === "created_at";
  const order = ascending ? "order by created_at, delivery_id desc" : newestFirst;
  const params: unknown[] = [webhookId];
  const bind = (value: unknown): string => `$${params.push(value)}`;
  const found = q === undefined ? "" : ` and ${searched(bind(q))}`;
  const of = (status === undefined ? Object.values(PARTS).flat() : PARTS[status]).map(({ from, where }) => ({
    from,
    where: where + found,
  }));
  const counted = [...params];
  const countSql = boundedCount(
    `from (${of.map((part) => `(${firstOf(part, "10001")})`).join(" union all ")}) counted`,
  );
  let after = "";
  if (paging?.position !== undefined) {
    const [at, id] = [`${bind(paging.position.value)}::timestamptz`, `${bind(paging.position.id)}::uuid`];
    const [sign, idSign] = ascending ? [">", "<"] : ["<", ">"];
    after = ` and d.created_at ${sign}= ${at} and (d.created_at ${sign} ${at} or d.delivery_id ${idSign} ${id})`;
  }
  const [most, skipped] = [bind(paging === undefined ? limit : limit + 1), bind(paging === undefined ? offset : 0)];
  const listed = of
    .map(({ from, where }) => `(${firstOf({ from, where: where + after }, `${most}::int + ${skipped}::int`, order)})`)
    .join(" union all ");
  const sql = `with page as materialized (select * from (${listed}) listed ${order} limit ${most} offset ${skipped})
    select ${DELIVERY_COLUMNS} from page join webhook_deliveries d using (delivery_id)
      join webhooks w using (webhook_id) join webhook_events e using (event_id)
    ${ascending ? "order by d.created_at, d.delivery_id desc" : "order by d.created_at desc, d.delivery_id"}`;
  const shape = [status ?? "all", ascending ? "a" : "d", q === undefined ? 0 : 1, after === "" ? 0 : 1].join("-");
  const [all, counts] = await Promise.all([
    database.prepared<DeliveryRow>(`webhook-deliveries-${shape}`, sql, params),
    database.prepared<{ counted: number }>(`webhook-deliveries-count-${shape}`, countSql, counted),
  ]);
  const rows = all.slice(0, limit);
  const last = rows.at(-1);
  const next =
    paging === undefined || all.length <= limit || last === undefined
      ? {}
      : { nextCursor: paging.next({ value: last.createdAt.toISOString(), id: last.deliveryId }) };
  return { rows, ...totalOf(counts), ...next };
}

/** One delivery of a webhook, with the request it sends. */
export async function deliveryOf(
  database: Pick<Database, "prepared">,
  webhookId: string,
  deliveryId: string,
): Promise<(DeliveryRow & { url: string; body: string }) | undefined> {
  const sql = `select ${DELIVERY_COLUMNS}, w.url, e.body from webhook_deliveries d join webhooks w using (webhook_id)
      join webhook_events e using (event_id)
    where d.webhook_id = $1 and d.delivery_id = $2`;
  const rows = await database.prepared<DeliveryRow & { url: string; body: string }>("webhook-delivery", sql, [
    webhookId,
    deliveryId,
  ]);
  return rows[0];
}

/** One delivery of a webhook, its row locked. */
export async function lockDelivery(tx: Tx, webhookId: string, deliveryId: string): Promise<DeliveryRow | undefined> {
  const rows = await tx.query<DeliveryRow>(
    `select ${DELIVERY_COLUMNS} from webhook_deliveries d join webhooks w using (webhook_id)
       join webhook_events e using (event_id)
     where d.webhook_id = $1 and d.delivery_id = $2 for update of d`,
    [webhookId, deliveryId],
  );
  return rows[0];
}

/** Restarts a delivery's schedule. Returns the time of its next attempt. */
export async function reopenDelivery(tx: Tx, deliveryId: string, now: Date | null): Promise<Date> {
  const [row] = await tx.query<{ nextAttemptAt: Date }>(
    `update webhook_deliveries d set status = 'pending', generation = w.generation, queue = 'first', tries = 0,
       extra_tries = 0, scheduled_at = null, not_before = null, next_attempt_at = ${present("$2")},
       leased_until = null, traceparent = $3
     from webhooks w where d.delivery_id = $1 and w.webhook_id = d.webhook_id
     returning d.next_attempt_at as "nextAttemptAt"`,
    [deliveryId, now, currentTraceparent() ?? null],
  );
  if (row === undefined) throw new Error("a locked delivery is gone");
  return row.nextAttemptAt;
}
