import type { Database } from "../../../platform/db/types.ts";
import { chainKey } from "../chain/store.ts";
import { partsOf } from "./count-rules.ts";
import type { Part } from "./count-rules.ts";
import { authEventTypes } from "../../event-catalogue/index.ts";
import type { IndexedFilter } from "./branches.ts";

const levels = { all: 0, day: 1, hour: 2, minute: 3 };
const ALL_USERS = "00000000-0000-0000-0000-000000000000";

/**
 * Counts the events of a filter exactly: by totals of minutes, hours, days or all time for linked events, and one by
 * one for pending events and those at the edges of the range. One statement, so that an event that is being linked is
 * counted once; its text depends on the members of the filter, not on the range, which is passed as arrays.
 */
export async function countEvents(database: Pick<Database, "prepared">, filter: IndexedFilter): Promise<number> {
  const { scope, authOnly, userUuid, type, outcome } = filter;
  const parts = partsOf(filter.from, filter.to, userUuid === undefined ? "minute" : "hour");
  if (scope.length === 0 || parts.length === 0) return 0;
  const [totals, edges] = [parts.filter(({ unit }) => unit !== "event"), parts.filter(({ unit }) => unit === "event")];
  const params: unknown[] = [];
  const bind = (value: unknown, cast: string): string => `$${params.push(value)}::${cast}`;
  const ranges = (owners: readonly unknown[], those: readonly Part[]): string => {
    const rows = owners.flatMap((owner) =>
      those.map((part) => ({ owner, level: part.unit === "event" ? -1 : levels[part.unit], ...bounds(part) })),
    );
    const list = <K extends "owner" | "level" | "from" | "to">(name: K, cast: string): string =>
      bind(
        rows.map((row) => row[name]),
        `${cast}[]`,
      );
    const arrays = [list("owner", "uuid"), list("level", "smallint"), list("from", "timestamptz")];
    return `unnest(${arrays.join(", ")}, ${list("to", "timestamptz")}) as part (owner, level, from_at, to_at)`;
  };
  const kind = [
    type === undefined ? undefined : `x.type = ${bind(type, "text")}`,
    outcome === undefined ? undefined : `x.outcome = ${bind(outcome, "text")}`,
  ];
  const event = [
    ...kind,
    authOnly ? "x.is_auth" : undefined,
    userUuid === undefined ? undefined : `x.user_uuid = ${bind(userUuid, "uuid")}`,
    "x.created_at >= part.from_at and x.created_at < part.to_at",
  ];
  // All values of what leads the indexes of the log.
  const leading = [
    type === undefined && !authOnly ? "x.is_auth = any('{true,false}')" : undefined,
    outcome === undefined ? "x.outcome = any('{success,failure}')" : undefined,
  ];
  const everything =
    !authOnly && [type, outcome, userUuid, filter.from, filter.to].every((given) => given === undefined);
  const organizations = scope.filter((org) => org !== null);
  const hasTotals = totals.length > 0;
  const hasEdgesInside = edges.length > 0 && organizations.length > 0;
  const hasEdgesOutside = edges.length > 0 && organizations.length < scope.length;
  const sums: string[] = [];
  if (hasTotals) {
    const known = authOnly && type === undefined ? `x.type = any(${bind(authEventTypes, "text[]")})` : undefined;
    const whose = `x.org_key = part.owner and x.level = part.level
      and x.user_key = ${bind(userUuid ?? ALL_USERS, "uuid")}`;
    const keys = scope.map(chainKey);
    sums.push(
      added(
        ranges(keys, totals),
        `select coalesce(sum(x.events), 0)::bigint as n from audit_counts x
         where ${joined([whose, ...kind, known, "x.bucket >= part.from_at and x.bucket < part.to_at"])}`,
      ),
      added(
        ranges(keys, [span(totals)]),
        everything
          ? "select count(*) as n from audit_pending p where p.org_key = part.owner"
          : // One look-up per pending event: a join would scan the log.
            `select coalesce(sum((
               select count(*) from audit_events x where ${joined(["x.sequence = p.event_sequence", ...event])}
             )), 0)::bigint as n from audit_pending p where p.org_key = part.owner`,
      ),
    );
  }
  if (hasEdgesInside)
    sums.push(
      added(
        ranges(organizations, edges),
        `select count(*) as n from audit_events x where ${joined(["x.org_uuid = part.owner", ...leading, ...event])}`,
      ),
    );
  if (hasEdgesOutside)
    sums.push(
      added(
        ranges([null], edges),
        `select count(*) as n from audit_events x where ${joined(["x.org_uuid is null", ...leading, ...event])}`,
      ),
    );
  // All that the text depends on: a prepared statement has one text per name.
  const given = [everything, hasTotals, hasEdgesInside, hasEdgesOutside, authOnly, userUuid, type, outcome];
  const shape = given.map((one) => (one === undefined || one === false ? 0 : 1)).join("");
  const rows = await database.prepared<{ n: string }>(
    `audit_count_${shape}`,
    `select ${sums.join(" + ")} as n`,
    params,
  );
  return Number(rows[0]?.n ?? 0);
}

/** SQL of the sum of a number that is looked up for each part. */
function added(parts: string, lookup: string): string {
  return `(select coalesce(sum(found.n), 0)::bigint from ${parts} cross join lateral (${lookup}) as found)`;
}

/** The range of consecutive parts. */
function span(parts: readonly Part[]): Part {
  return { unit: "all", from: parts[0]?.from, to: parts.at(-1)?.to };
}

function bounds({ from, to }: Part): { from: Date | string; to: Date | string } {
  return { from: from ?? "-infinity", to: to ?? "infinity" };
}

function joined(clauses: readonly (string | undefined)[]): string {
  return clauses.filter((clause) => clause !== undefined).join(" and ");
}
