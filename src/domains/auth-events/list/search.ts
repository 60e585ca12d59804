import type { Position } from "../../../platform/cursors.ts";
import { containing } from "../../../platform/db/list.ts";
import { MAX_EXACT, totalOf } from "../../../platform/db/total.ts";
import type { Total } from "../../../platform/db/total.ts";
import type { Database } from "../../../platform/db/types.ts";
import { columns } from "../event-row.ts";
import { after, branchesOf, orderOf } from "./branches.ts";
import type { Bind, IndexedFilter } from "./branches.ts";
import { foundEvents, rowsOf } from "./store.ts";
import type { EventWindow, FoundEvents, FoundRow } from "./store.ts";

/** Filters of a search. Those that it adds have no index: a search reads every event that the others select. */
export interface SearchFilter extends IndexedFilter {
  ipAddress?: string | undefined;
  /** Id or email of the actor. */
  actor?: string | undefined;
  /** Text that type, address, user agent or resource id contains. */
  q?: string | undefined;
}

/** Dependencies of {@link searchEvents}. */
export interface SearchDeps {
  database: Pick<Database, "prepared">;
  /** Ends the search when it is aborted. */
  signal?: AbortSignal | undefined;
}

/**
 * Number of events that one statement reads: a log may have any length, and a statement has a time limit. It is the
 * limit of exact counts plus one, so that a search that matches every event reads one batch.
 */
const BATCH = MAX_EXACT + 1;
const TEXTS = ["type", "ip_address", "user_agent", "resource_id"];

/** What a search finds in one batch of events. */
interface Batch {
  read: number;
  found: number;
  /** Position of its last event. */
  at: Date;
  id: string;
  /** Sequences of the events for the page. */
  page: string[];
}

/**
 * One page of the events that a search finds, by default newest first, and how many it finds, up to the limit of exact
 * counts. Reads the log in batches from its start, and no further than page and count need.
 */
export async function searchEvents(
  { database, signal }: SearchDeps,
  filter: SearchFilter,
  window: EventWindow,
): Promise<FoundEvents & Total> {
  if (filter.scope.length === 0) return { data: [], total: 0 };
  const wanted = rowsOf(window);
  const start = window.paging?.position;
  const page: string[] = [];
  let found = 0;
  let position: Position | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const { name, sql, params } = batchOf(filter, window.ascending, position, {
      start,
      skip: Math.max(0, window.offset - found),
      wanted: wanted - page.length,
    });
    const [batch] = await database.prepared<Batch>(name, sql, params);
    if (batch === undefined) break;
    found += batch.found;
    page.push(...batch.page);
    if (batch.read < BATCH || (found > MAX_EXACT && page.length >= wanted)) break;
    position = { value: batch.at.toISOString(), id: batch.id };
    // The count has reached its limit: what is left to read is the page.
    if (found > MAX_EXACT && start !== undefined && isBefore(position, start, window.ascending)) position = start;
  }
  const rows = await database.prepared<FoundRow>(
    `audit_found_${window.ascending ? "a" : "d"}`,
    `select ${columns}, sequence from audit_events where sequence = any($1::bigint[]) ${orderOf(window.ascending)}`,
    [page],
  );
  return { ...foundEvents(rows, window), ...totalOf([{ counted: Math.min(found, MAX_EXACT + 1) }]) };
}

/** SQL of the batch after a position: what is found there, and which of it is on a page that begins after `start`. */
function batchOf(
  filter: SearchFilter,
  ascending: boolean,
  position: Position | undefined,
  { start, skip, wanted }: { start: Position | undefined; skip: number; wanted: number },
): { name: string; sql: string; params: unknown[] } {
  const params: unknown[] = [];
  const bind: Bind = (value) => `$${params.push(value)}`;
  const clauses = [
    filter.ipAddress === undefined ? undefined : `ip_address = ${bind(filter.ipAddress)}`,
    filter.actor === undefined ? undefined : actorIs(bind(filter.actor)),
    filter.q === undefined ? undefined : containing(TEXTS, bind(filter.q)),
  ];
  const isFound = ["true", ...clauses.filter((clause) => clause !== undefined)].join(" and ");
  const read = { limit: BATCH, ascending, position };
  const branches = branchesOf(filter, `sequence, created_at, (${isFound}) as is_found`, read, bind);
  const order = orderOf(ascending);
  const onPage = start === undefined ? "" : `and ${after(ascending, bind, start)}`;
  const sql = `with batch as materialized (select * from (${branches.sql}) e ${order} limit ${bind(BATCH)})
    select count(*)::int as read, (count(*) filter (where is_found))::int as found, last.at, last.id,
      array(select sequence from batch where is_found ${onPage} ${order}
        limit ${bind(wanted)} offset ${bind(skip)})::text[] as page
    from batch
    cross join (select created_at as at, sequence::text as id from batch ${orderOf(!ascending)} limit 1) as last
    group by last.at, last.id`;
  const present = [...clauses, start].map((one) => (one === undefined ? "0" : "1")).join("");
  return { name: `audit_batch_${present}_${branches.shape}`, sql, params };
}

const actorIs = (param: string): string =>
  `coalesce((select lower(${param}::text)) in (lower(actor ->> 'id'), lower(actor ->> 'email')), false)`;

/** Whether a position comes before another in a list. */
function isBefore(position: Position, other: Position, ascending: boolean): boolean {
  const [first, second] = ascending ? [position, other] : [other, position];
  const apart = Date.parse(String(second.value)) - Date.parse(String(first.value));
  return apart === 0 ? BigInt(first.id) < BigInt(second.id) : apart > 0;
}
