import type { CursorPaging, Position } from "../../../platform/cursors.ts";
import { containing } from "../../../platform/db/list.ts";
import { boundedCount, MAX_EXACT, totalOf } from "../../../platform/db/total.ts";
import type { Total } from "../../../platform/db/total.ts";
import type { Database } from "../../../platform/db/types.ts";
import type { AuditRecord } from "../../audit-record/index.ts";
import { columns, toRecord } from "../event-row.ts";
import type { EventRow } from "../event-row.ts";

/** Filters of a list. */
export interface EventFilter {
  /** Organizations; null stands for events without one. */
  scope: readonly (string | null)[];
  /** Only authentication events. */
  authOnly: boolean;
  userUuid?: string | undefined;
  type?: string | undefined;
  outcome?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  ipAddress?: string | undefined;
  eventId?: string | undefined;
  /** Id or email of the actor. */
  actor?: string | undefined;
  /** Text that type, address, user agent or resource id contains. */
  q?: string | undefined;
}

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

/** One page of events, by default newest first. */
export async function pageOfEvents(
  database: Pick<Database, "prepared">,
  filter: EventFilter,
  { limit, offset, ascending, paging }: EventWindow,
): Promise<FoundEvents> {
  if (filter.scope.length === 0) return { data: [] };
  const read = paging === undefined ? limit + offset : limit + 1;
  const { branches, params, shape } = select(filter, `${columns}, sequence`, {
    limit: read,
    ascending,
    position: paging?.position,
  });
  const sql = `select ${columns}, sequence from (${branches}) e ${orderOf(ascending)}
    limit $${params.length + 1} offset $${params.length + 2}`;
  const rows = await database.prepared<EventRow & { sequence: string }>(`audit_page_${shape}`, sql, [
    ...params,
    paging === undefined ? limit : limit + 1,
    offset,
  ]);
  const data = rows.slice(0, limit).map(toRecord);
  const last = rows[limit - 1];
  if (paging === undefined || rows.length <= limit || last === undefined) return { data };
  return { data, nextCursor: paging.next({ value: last.created_at.toISOString(), id: last.sequence }) };
}

/** How many events match, up to the limit of exact counts; for filters that the totals of the log do not know. */
export async function countSearched(database: Pick<Database, "prepared">, filter: EventFilter): Promise<Total> {
  if (filter.scope.length === 0) return { total: 0 };
  const { branches, params, shape } = select(filter, "1", { limit: MAX_EXACT + 1, ascending: false });
  const sql = boundedCount(`from (${branches}) e`);
  return totalOf(await database.prepared<{ counted: number }>(`audit_searched_${shape}`, sql, params));
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

const SEARCHED = ["type", "ip_address", "user_agent", "resource_id"];

const actorIs = (param: string): string =>
  `(select lower(${param}::text)) in (lower(actor ->> 'id'), lower(actor ->> 'email'))`;

const after = (ascending: boolean, at: string, sequence: string): string =>
  `(created_at, sequence) ${ascending ? ">" : "<"} (${at}::timestamptz, ${sequence}::bigint)`;

const orderOf = (ascending: boolean): string =>
  ascending ? "order by created_at, sequence" : "order by created_at desc, sequence desc";

/**
 * SQL of a page with one branch for each organization and outcome: each branch is an index scan in the order of the
 * list that reads no more than the page, and the branches are merged.
 */
function select(
  filter: EventFilter,
  selected: string,
  { limit, ascending, position }: { limit: number; ascending: boolean; position?: Position | undefined },
): { branches: string; params: unknown[]; shape: string } {
  const params: unknown[] = [];
  const bind = (value: unknown): string => `$${params.push(value)}`;
  const shared = [
    filter.authOnly ? "is_auth" : undefined,
    filter.userUuid === undefined ? undefined : `user_uuid = ${bind(filter.userUuid)}`,
    filter.type === undefined ? undefined : `type = ${bind(filter.type)}`,
    filter.from === undefined ? undefined : `created_at >= ${bind(filter.from)}`,
    filter.to === undefined ? undefined : `created_at < ${bind(filter.to)}`,
    filter.ipAddress === undefined ? undefined : `ip_address = ${bind(filter.ipAddress)}`,
    filter.eventId === undefined ? undefined : `event_id = ${bind(filter.eventId)}`,
    filter.actor === undefined ? undefined : actorIs(bind(filter.actor)),
    filter.q === undefined ? undefined : containing(SEARCHED, bind(filter.q)),
    position === undefined ? undefined : after(ascending, bind(position.value), bind(position.id)),
  ];
  const present = [...shared, filter.outcome].map((clause) => (clause === undefined ? "0" : "1")).join("");
  const scopes = filter.scope.map((org) => (org === null ? "org_uuid is null" : `org_uuid = ${bind(org)}`));
  const outcomes =
    filter.outcome === undefined
      ? ["outcome = 'success'", "outcome = 'failure'"]
      : [`outcome = ${bind(filter.outcome)}`];
  const clauses = shared.filter((clause) => clause !== undefined);
  const order = `${orderOf(ascending)} limit ${bind(limit)}`;
  const branches = scopes.flatMap((scope) =>
    outcomes.map(
      (outcome) =>
        `(select ${selected} from audit_events where ${[scope, outcome, ...clauses].join(" and ")} ${order})`,
    ),
  );
  const shape = `${present}_${ascending ? "a" : "d"}_${filter.scope.map((org) => (org === null ? "n" : "o")).join("")}`;
  return { branches: branches.join(" union all "), params, shape };
}
