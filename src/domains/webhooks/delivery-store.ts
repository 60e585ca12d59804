import { boundedCount, totalOf } from "../../platform/db/counting.ts";
import type { Total } from "../../platform/db/counting.ts";
import { present } from "../../platform/db/time.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { currentTraceparent } from "../../platform/tracing.ts";
import type { AttemptRecord, Page } from "./store.ts";

/** A delivery as it is shown. */
export interface DeliveryRow {
  delivery_id: string;
  event_id: string;
  event_type: string;
  status: "pending" | "delivered" | "failed";
  attempts: AttemptRecord[];
  next_attempt_at: Date | null;
  created_at: Date;
}

/** Of an earlier generation than the webhook: over, though its row says pending until it is worked off. */
const isOver = "(d.status = 'pending' and d.generation < w.generation)";
const shown = `d.delivery_id, d.event_id, e.type as event_type, case when ${isOver} then 'failed' else d.status end as status, d.attempts,
  case when not ${isOver} then d.next_attempt_at end as next_attempt_at, d.created_at`;
const newestFirst = "order by created_at desc, delivery_id";

/** Rows of the webhook `w` that have a status, as parts of which each is in the order of the index. */
const settled = (status: string): string =>
  `d.webhook_id = w.webhook_id and d.status = '${status}' and d.generation = 0`;
const open = "d.webhook_id = w.webhook_id and d.status = 'pending' and d.generation = w.generation";
const over = "d.webhook_id = w.webhook_id and d.status = 'pending' and d.generation = earlier.generation";
/** Generations of the webhook before the present one that have rows left, one look into the index each. */
const earlier = `(with recursive generations as (
    (select generation from webhook_deliveries
     where webhook_id = $1 and status = 'pending' and generation < (select generation from webhooks where webhook_id = $1)
     order by generation limit 1)
    union all
    select (select d.generation from webhook_deliveries d
      where d.webhook_id = $1 and d.status = 'pending' and d.generation > generations.generation
        and d.generation < (select generation from webhooks where webhook_id = $1) order by d.generation limit 1)
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

/** SQL of the first rows of a part, in the order of the list; at most `most` of each generation. */
const first = ({ from, where }: Part, most: string): string => `select d.* from ${from} cross join lateral (
    select d.delivery_id, d.created_at from webhook_deliveries d where ${where} ${newestFirst} limit ${most}) d where w.webhook_id = $1`;

function listSql(of: readonly Part[]): string {
  return `with page as materialized (
      select * from (${of.map((part) => `(${first(part, "$2::int + $3::int")})`).join(" union all ")}) listed ${newestFirst} limit $2 offset $3)
    select ${shown} from page join webhook_deliveries d using (delivery_id) join webhooks w using (webhook_id) join webhook_events e using (event_id)
    order by d.created_at desc, d.delivery_id`;
}

const countSql = (of: readonly Part[]): string =>
  boundedCount(
    `from (${of
      .map(
        ({ from, where }) =>
          `select 1 from ${from} cross join lateral (select 1 from webhook_deliveries d where ${where} ${newestFirst} limit 10001) d where w.webhook_id = $1`,
      )
      .join(" union all ")}) counted`,
  );

/** Deliveries of a webhook, newest first. Costs what a page costs, whatever the number of deliveries. */
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
    `select ${shown} from webhook_deliveries d join webhooks w using (webhook_id) join webhook_events e using (event_id)
     where d.webhook_id = $1 and d.delivery_id = $2 for update of d`,
    [webhookId, deliveryId],
  );
  return rows[0];
}

/** Begins a delivery's schedule anew. */
export async function reopenDelivery(tx: Tx, deliveryId: string, now: Date | null): Promise<Date> {
  const [row] = await tx.query<{ next_attempt_at: Date }>(
    `update webhook_deliveries d set status = 'pending', generation = w.generation, queue = 'first', tries = 0,
       next_attempt_at = ${present("$2")}, leased_until = null, traceparent = $3
     from webhooks w where d.delivery_id = $1 and w.webhook_id = d.webhook_id returning d.next_attempt_at`,
    [deliveryId, now, currentTraceparent() ?? null],
  );
  if (row === undefined) throw new Error("a locked delivery is gone");
  return row.next_attempt_at;
}
