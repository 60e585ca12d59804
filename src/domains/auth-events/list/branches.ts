import type { Position } from "../../../platform/cursors.ts";

/** Filters of a list that its indexes know. */
export interface IndexedFilter {
  /** Organizations; null stands for events without one. */
  scope: readonly (string | null)[];
  /** Only authentication events. */
  authOnly: boolean;
  userUuid?: string | undefined;
  type?: string | undefined;
  outcome?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  eventId?: string | undefined;
}

/** Adds a parameter to a statement and returns its name. */
export type Bind = (value: unknown) => string;

/** SQL of a page; see {@link branchesOf}. */
export interface Branches {
  sql: string;
  /** What the text depends on: a prepared statement has one text per name. */
  shape: string;
}

/** A condition for events that come after a position in a list. */
export const after = (ascending: boolean, bind: Bind, { value, id }: Position): string =>
  `(created_at, sequence) ${ascending ? ">" : "<"} (${bind(value)}::timestamptz, ${bind(id)}::bigint)`;

/** The order of a list. */
export const orderOf = (ascending: boolean): string =>
  ascending ? "order by created_at, sequence" : "order by created_at desc, sequence desc";

/**
 * SQL of a page with one branch for each organization, outcome and kind of event: each branch is an index scan in the
 * order of the list that reads no more than the page, and the branches are merged.
 */
export function branchesOf(
  filter: IndexedFilter,
  selected: string,
  { limit, ascending, position }: { limit: number; ascending: boolean; position?: Position | undefined },
  bind: Bind,
): Branches {
  const shared = [
    filter.userUuid === undefined ? undefined : `user_uuid = ${bind(filter.userUuid)}`,
    filter.type === undefined ? undefined : `type = ${bind(filter.type)}`,
    filter.from === undefined ? undefined : `created_at >= ${bind(filter.from)}`,
    filter.to === undefined ? undefined : `created_at < ${bind(filter.to)}`,
    filter.eventId === undefined ? undefined : `event_id = ${bind(filter.eventId)}`,
    position === undefined ? undefined : after(ascending, bind, position),
  ];
  const scopes = filter.scope.map((org) => (org === null ? "org_uuid is null" : `org_uuid = ${bind(org)}`));
  const outcomes =
    filter.outcome === undefined
      ? ["outcome = 'success'", "outcome = 'failure'"]
      : [`outcome = ${bind(filter.outcome)}`];
  // A type is of one kind, and the indexes with it do not have the kind.
  const all = filter.type === undefined ? ["is_auth", "not is_auth"] : ["true"];
  const kinds = filter.authOnly ? ["is_auth"] : all;
  const clauses = shared.filter((clause) => clause !== undefined);
  const order = orderOf(ascending);
  const most = bind(limit);
  const branches = scopes.flatMap((scope) =>
    outcomes.flatMap((outcome) =>
      kinds.map((kind) => {
        const where = [scope, outcome, kind, ...clauses].join(" and ");
        return `(select ${selected} from audit_events where ${where} ${order} limit ${most})`;
      }),
    ),
  );
  const given = [filter.authOnly, filter.outcome !== undefined, ...shared.map((clause) => clause !== undefined)];
  const present = given.map((one) => (one ? "1" : "0")).join("");
  const owners = filter.scope.map((org) => (org === null ? "n" : "o")).join("");
  return { sql: branches.join(" union all "), shape: `${present}_${ascending ? "a" : "d"}_${owners}` };
}
