import { boundedCount, totalOf } from "../../platform/db/total.ts";
import type { Total } from "../../platform/db/total.ts";
import { present } from "../../platform/db/time.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { currentTraceparent } from "../../platform/tracing.ts";
import type { AttemptRecord, Page } from "./store.ts";

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
const columns = `d.delivery_id as "deliveryId", d.event_id as "eventId", e.type as "eventType",
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

interface Part {
  from: string;
  where: string;
}

const parts: Readonly<Record<DeliveryRow["status"], readonly Part[]>> = {
  pending: [{ from: "webhooks w", where: open }],
  delivered: [{ from: "webhooks w", where: settled("delivered") }],
  failed: [
    { from: "webhooks w", where: settled("failed") },
    { from: `webhooks w, ${earlier}`, where: over },
  ],
};

/** SQL of the first rows of a part, in the order of the list; at most `limit` of each generation. */
const first = ({ from, where }: Part, limit: string): string => `select d.* from ${from} cross join lateral (
    select d.delivery_id, d.created_at from webhook_deliveries d
    where ${where} ${newestFirst} limit ${limit}) d where w.webhook_id = $1`;

function listSql(of: readonly Part[]): string {
  const listed = of.map((part) => `(${first(part, "$2::int + $3::int")})`).join(" union all ");
  return `with page as materialized (select * from (${listed}) listed ${newestFirst} limit $2 offset $3)
    select ${columns} from page join webhook_deliveries d using (delivery_id) join webhooks w using (webhook_id)
      join webhook_events e using (event_id)
    order by d.created_at desc, d.delivery_id`;
}

const countSql = (of: readonly Part[]): string =>
  boundedCount(
    `from (${of
      .map(
        ({ from, where }) =>
          `select 1 from ${from} cross join lateral (
            select 1 from webhook_deliveries d where ${where} ${newestFirst} limit 10001) d where w.webhook_id = $1`,
      )
      .join(" union all ")}) counted`,
  );

/** Deliveries of a webhook, newest first. The cost depends on the page, not on the number of deliveries. */
export async function deliveriesOf(
  database: Pick<Database, "prepared">,
  webhookId: string,
  status: DeliveryRow["status"] | undefined,
  page: Page,
): Promise<{ rows: DeliveryRow[] } & Total> {
  const of = status === undefined ? Object.values(parts).flat() : parts[status];
  const [rows, counted] = await Promise.all([
    database.prepared<DeliveryRow>(`webhook-deliveries-${status ?? "all"}`, listSql(of), [
      webhookId,
      page.limit,
      page.offset,
    ]),
    database.prepared<{ counted: number }>(`webhook-deliveries-count-${status ?? "all"}`, countSql(of), [webhookId]),
  ]);
  return { rows, ...totalOf(counted) };
}

/** One delivery of a webhook, its row locked. */
export async function lockDelivery(tx: Tx, webhookId: string, deliveryId: string): Promise<DeliveryRow | undefined> {
  const rows = await tx.query<DeliveryRow>(
    `select ${columns} from webhook_deliveries d join webhooks w using (webhook_id)
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
       next_attempt_at = ${present("$2")}, leased_until = null, traceparent = $3
     from webhooks w where d.delivery_id = $1 and w.webhook_id = d.webhook_id
     returning d.next_attempt_at as "nextAttemptAt"`,
    [deliveryId, now, currentTraceparent() ?? null],
  );
  if (row === undefined) throw new Error("a locked delivery is gone");
  return row.nextAttemptAt;
}
