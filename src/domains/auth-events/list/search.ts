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

/** Filters for which every event in question is read. */
export interface SearchFilter extends IndexedFilter {
  ipAddress?: string | undefined;
  /** Id or email of the actor. */
  actor?: string | undefined;
  /** Text that type, address, user agent or resource id contains. */
  q?: string | undefined;
}

/** Reads the log; see {@link searchEvents}. */
export interface SearchDeps {
  database: Pick<Database, "prepared">;
  /** Ends the search when it is aborted. */
  signal?: AbortSignal | undefined;
}

/**
 * Number of events that one statement reads. A log may be of any length, and a statement may not take long. As many as
 * are counted exactly, so that a search that finds every event reads one piece.
 */
const PIECE = MAX_EXACT + 1;
const TEXTS = ["type", "ip_address", "user_agent", "resource_id"];

/** What a piece of the log has. */
interface Piece {
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
 * counts. Reads the log in pieces from its start, and no further than page and count need.
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
    const { name, sql, params } = pieceOf(filter, window.ascending, position, {
      start,
      skip: Math.max(0, window.offset - found),
      wanted: wanted - page.length,
    });
    const [piece] = await database.prepared<Piece>(name, sql, params);
    if (piece === undefined) break;
    found += piece.found;
    page.push(...piece.page);
    if (piece.read < PIECE || (found > MAX_EXACT && page.length >= wanted)) break;
    position = { value: piece.at.toISOString(), id: piece.id };
    // All is counted that will be: the rest is for the page alone.
    if (found > MAX_EXACT && start !== undefined && isBefore(position, start, window.ascending)) position = start;
  }
  const rows = await database.prepared<FoundRow>(
    `audit_found_${window.ascending ? "a" : "d"}`,
    `select ${columns}, sequence from audit_events where sequence = any($1::bigint[]) ${orderOf(window.ascending)}`,
    [page],
  );
  return { ...foundEvents(rows, window), ...totalOf([{ counted: Math.min(found, MAX_EXACT + 1) }]) };
}

/** SQL of a piece after a position: what it has found, and what of that is on a page that begins after `start`. */
function pieceOf(
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
  const read = { limit: PIECE, ascending, position };
  const branches = branchesOf(filter, `sequence, created_at, (${isFound}) as is_found`, read, bind);
  const { order } = branches;
  const onPage = start === undefined ? "" : `and ${after(ascending, bind, start)}`;
  const sql = `with piece as materialized (select * from (${branches.sql}) e ${order} limit ${bind(PIECE)})
    select count(*)::int as read, (count(*) filter (where is_found))::int as found, last.at, last.id,
      array(select sequence from piece where is_found ${onPage} ${order}
        limit ${bind(wanted)} offset ${bind(skip)})::text[] as page
    from piece
    cross join (select created_at as at, sequence::text as id from piece ${orderOf(!ascending)} limit 1) as last
    group by last.at, last.id`;
  const present = [...clauses, start].map((one) => (one === undefined ? "0" : "1")).join("");
  return { name: `audit_piece_${present}_${branches.shape}`, sql, params };
}

const actorIs = (param: string): string =>
  `coalesce((select lower(${param}::text)) in (lower(actor ->> 'id'), lower(actor ->> 'email')), false)`;

/** Whether a position comes before another in a list. */
function isBefore(position: Position, other: Position, ascending: boolean): boolean {
  const [first, second] = ascending ? [position, other] : [other, position];
  const apart = Date.parse(String(second.value)) - Date.parse(String(first.value));
  return apart === 0 ? BigInt(first.id) < BigInt(second.id) : apart > 0;
}
