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
}

/** One page of events, newest first. */
export async function pageOfEvents(
  database: Pick<Database, "prepared">,
  filter: EventFilter,
  limit: number,
  offset: number,
): Promise<AuditRecord[]> {
  if (filter.scope.length === 0) return [];
  const { branches, params, shape } = select(filter, `${columns}, sequence`, limit + offset);
  const sql = `select ${columns} from (${branches}) e order by created_at desc, sequence desc
    limit $${params.length + 1} offset $${params.length + 2}`;
  const rows = await database.prepared<EventRow>(`audit_page_${shape}`, sql, [...params, limit, offset]);
  return rows.map(toRecord);
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

/**
 * SQL of a page with one branch for each organization and outcome: each branch is an index scan in the order of the
 * list that reads no more than the page, and the branches are merged.
 */
function select(
  filter: EventFilter,
  selected: string,
  limit: number,
): { branches: string; params: unknown[]; shape: string } {
  const params: unknown[] = [];
  const bind = (value: unknown): string => `$${params.push(value)}`;
  const shared = [
    filter.authOnly ? "is_auth" : undefined,
    filter.userUuid === undefined ? undefined : `user_uuid = ${bind(filter.userUuid)}`,
    filter.type === undefined ? undefined : `type = ${bind(filter.type)}`,
    filter.from === undefined ? undefined : `created_at >= ${bind(filter.from)}`,
    filter.to === undefined ? undefined : `created_at < ${bind(filter.to)}`,
  ];
  const present = [...shared, filter.outcome].map((clause) => (clause === undefined ? "0" : "1")).join("");
  const scopes = filter.scope.map((org) => (org === null ? "org_uuid is null" : `org_uuid = ${bind(org)}`));
  const outcomes =
    filter.outcome === undefined
      ? ["outcome = 'success'", "outcome = 'failure'"]
      : [`outcome = ${bind(filter.outcome)}`];
  const clauses = shared.filter((clause) => clause !== undefined);
  const order = `order by created_at desc, sequence desc limit ${bind(limit)}`;
  const branches = scopes.flatMap((scope) =>
    outcomes.map(
      (outcome) =>
        `(select ${selected} from audit_events where ${[scope, outcome, ...clauses].join(" and ")} ${order})`,
    ),
  );
  const shape = `${present}_${filter.scope.map((org) => (org === null ? "n" : "o")).join("")}`;
  return { branches: branches.join(" union all "), params, shape };
}
