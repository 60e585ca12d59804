import type { Database } from "../../platform/db/types.ts";
import { chainKey } from "./chain-store.ts";
import { partsOf } from "./count-rules.ts";
import type { Part } from "./count-rules.ts";
import { authEventTypes } from "./events.ts";
import type { EventFilter } from "./store.ts";

const levels = { all: 0, day: 1, hour: 2 };
const EVERYBODY = "00000000-0000-0000-0000-000000000000";

/**
 * How many events a filter lets through, exactly: totals of whole hours, days or all time for the linked ones, those not
 * yet linked one by one, and every event at the edges of the range. One statement, so that an event that is being linked
 * is counted once.
 */
export async function countEvents(database: Database, filter: EventFilter): Promise<number> {
  const parts = partsOf(filter.from, filter.to, filter.userUuid === undefined);
  const params: unknown[] = [];
  const bind = (value: unknown, type: string): string => `$${params.push(value)}::${type}`;
  const sums = filter.scope.flatMap((org) => parts.flatMap((part) => sumsOf(filter, org, part, bind)));
  if (sums.length === 0) return 0;
  const shape = [
    filter.scope.map((org) => (org === null ? "n" : "o")).join(""),
    parts.map(({ unit, from, to }) => `${unit[0]}${from === undefined ? 0 : 1}${to === undefined ? 0 : 1}`).join(""),
    [filter.authOnly, filter.userUuid, filter.type, filter.outcome].map((given) => (given === undefined || given === false ? 0 : 1)).join(""),
  ].join("_");
  const rows = await database.prepared<{ n: string }>(`audit_count_${shape}`, `select ${sums.join(" + ")} as n`, params);
  return Number(rows[0]?.n ?? 0);
}

type Bind = (value: unknown, type: string) => string;

function sumsOf(filter: EventFilter, org: string | null, part: Part, bind: Bind): string[] {
  const kind = [
    filter.type === undefined ? undefined : `x.type = ${bind(filter.type, "text")}`,
    filter.outcome === undefined ? undefined : `x.outcome = ${bind(filter.outcome, "text")}`,
  ];
  const events = [...kind, filter.authOnly ? "x.is_auth" : undefined, filter.userUuid === undefined ? undefined : `x.user_uuid = ${bind(filter.userUuid, "uuid")}`, ...between("x.created_at", part, bind)];
  if (part.unit === "event") {
    const owner = org === null ? "x.org_uuid is null" : `x.org_uuid = ${bind(org, "uuid")}`;
    return [`(select count(*) from audit_events x where ${joined([owner, ...events])})`];
  }
  const key = bind(chainKey(org), "uuid");
  const totals = [
    `x.org_key = ${key}`,
    `x.user_key = ${bind(filter.userUuid ?? EVERYBODY, "uuid")}`,
    `x.level = ${levels[part.unit]}`,
    ...kind,
    filter.authOnly && filter.type === undefined ? `x.type = any(${bind(authEventTypes, "text[]")})` : undefined,
    ...between("x.bucket", part, bind),
  ];
  return [
    `coalesce((select sum(x.events) from audit_counts x where ${joined(totals)}), 0)`,
    `(select count(*) from audit_pending p join audit_events x on x.sequence = p.event_sequence where ${joined([`p.org_key = ${key}`, ...events])})`,
  ];
}

function between(column: string, { from, to }: Part, bind: Bind): (string | undefined)[] {
  return [
    from === undefined ? undefined : `${column} >= ${bind(from, "timestamptz")}`,
    to === undefined ? undefined : `${column} < ${bind(to, "timestamptz")}`,
  ];
}

function joined(clauses: readonly (string | undefined)[]): string {
  return clauses.filter((clause) => clause !== undefined).join(" and ");
}
