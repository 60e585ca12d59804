import type { CursorPaging } from "../../../platform/cursors.ts";
import type { Database } from "../../../platform/db/types.ts";
import type { AuditRecord } from "../../audit-record/index.ts";
import { columns, toRecord } from "../event-row.ts";
import type { EventRow } from "../event-row.ts";
import { branchesOf, orderOf } from "./branches.ts";
import type { IndexedFilter } from "./branches.ts";

/** Order and place of a page. */
export interface EventWindow {
  limit: number;
  offset: number;
  /** Oldest first. */
  ascending: boolean;
  /** Set for paging by cursor. */
  paging?: CursorPaging | undefined;
}

/** One page of events, and the cursor of the next. */
export interface FoundEvents {
  data: AuditRecord[];
  nextCursor?: string;
}

/** A row of a page. */
export type FoundRow = EventRow & { sequence: string };

/** One page of events, by default newest first. */
export async function pageOfEvents(
  database: Pick<Database, "prepared">,
  filter: IndexedFilter,
  window: EventWindow,
): Promise<FoundEvents> {
  const { limit, offset, ascending, paging } = window;
  if (filter.scope.length === 0) return { data: [] };
  const params: unknown[] = [];
  const bind = (value: unknown): string => `$${params.push(value)}`;
  const read = { limit: paging === undefined ? limit + offset : limit + 1, ascending, position: paging?.position };
  const { sql, shape } = branchesOf(filter, `${columns}, sequence`, read, bind);
  const place = `${orderOf(ascending)} limit ${bind(rowsOf(window))} offset ${bind(offset)}`;
  const page = `select ${columns}, sequence from (${sql}) e ${place}`;
  return foundEvents(await database.prepared<FoundRow>(`audit_page_${shape}`, page, params), window);
}

/** Number of rows to read for a page: by cursor one more, which says whether there is a next page. */
export const rowsOf = ({ limit, paging }: EventWindow): number => (paging === undefined ? limit : limit + 1);

/** A page of its rows. */
export function foundEvents(rows: readonly FoundRow[], { limit, paging }: EventWindow): FoundEvents {
  const data = rows.slice(0, limit).map(toRecord);
  const last = rows[limit - 1];
  if (paging === undefined || rows.length <= limit || last === undefined) return { data };
  return { data, nextCursor: paging.next({ value: last.created_at.toISOString(), id: last.sequence }) };
}

/** One event by its id; with `authOnly` only an authentication event. */
export async function findEvent(
  database: Pick<Database, "prepared">,
  eventId: string,
  authOnly: boolean,
): Promise<AuditRecord | undefined> {
  const sql = `select ${columns} from audit_events where event_id = $1 and (is_auth or not $2)`;
  const [row] = await database.prepared<EventRow>("audit_one", sql, [eventId, authOnly]);
  return row === undefined ? undefined : toRecord(row);
}
