import type { Database } from "../../platform/db/types.ts";
import type { Actor, AuditRecord } from "../audit-record/index.ts";

/** What a list is narrowed to. */
export interface EventFilter {
  /** Organizations; null is events of none. */
  scope: readonly (string | null)[];
  /** Only the documented authentication events. */
  authOnly: boolean;
  userUuid?: string | undefined;
  type?: string | undefined;
  outcome?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** An event as the table has it. */
export interface EventRow {
  event_id: string;
  type: string;
  outcome: string;
  user_uuid: string | null;
  org_uuid: string | null;
  ip_address: string;
  user_agent: string;
  metadata: Record<string, unknown>;
  actor: Actor | null;
  resource_type: string | null;
  resource_id: string | null;
  created_at: Date;
}

/** The columns of {@link EventRow}. */
export const columns = `event_id, type, outcome, user_uuid, org_uuid, ip_address, user_agent, metadata, actor, resource_type, resource_id, created_at`;

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

/** One event by its id; `authOnly` hides administrative actions. */
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
 * One branch for each organization and outcome: each is an index scan in the order of the list, no further than the
 * page, and they merge.
 */
function select(
  filter: EventFilter,
  selected: string,
  most: number,
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
  const order = `order by created_at desc, sequence desc limit ${bind(most)}`;
  const branches = scopes.flatMap((scope) =>
    outcomes.map(
      (outcome) =>
        `(select ${selected} from audit_events where ${[scope, outcome, ...clauses].join(" and ")} ${order})`,
    ),
  );
  const shape = `${present}_${filter.scope.map((org) => (org === null ? "n" : "o")).join("")}`;
  return { branches: branches.join(" union all "), params, shape };
}

/** An event as the domain has it. */
export function toRecord(row: EventRow): AuditRecord {
  return {
    eventId: row.event_id,
    type: row.type,
    outcome: row.outcome,
    userUuid: row.user_uuid,
    orgUuid: row.org_uuid,
    ipAddress: row.ip_address,
    userAgent: row.user_agent,
    metadata: row.metadata,
    actor: row.actor,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    createdAt: row.created_at,
  };
}
