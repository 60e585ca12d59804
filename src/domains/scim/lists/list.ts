import type { CallerContext } from "../../../platform/context.ts";
import { callerOrg } from "../../../platform/caller.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import { MAX_EXACT } from "../../../platform/db/total.ts";
import { scimErrors } from "../errors.ts";
import { createCompiler, createParameters, FilterSyntaxError, parseFilter } from "../filter/index.ts";
import type { Column, Parameters, Table } from "../filter/index.ts";
import type { ResourceKind } from "../schema/index.ts";
import { selectList } from "./columns.ts";
import type { Columns } from "./columns.ts";
import type { Cursors, CursorScope, Position } from "./cursor.ts";

/** Results of a page that names no count, and the maximum (decisions 8.6). */
export const DEFAULT_COUNT = 100;
export const MAX_COUNT = 200;

/** A query for resources (RFC 7644 §3.4.2). */
export interface ListRequest {
  filter?: string | undefined;
  sortBy?: string | undefined;
  sortOrder?: string | undefined;
  startIndex?: number | undefined;
  count?: number | undefined;
  /** Present for paging by cursor; empty to start. */
  cursor?: string | undefined;
}

/** A page of resources. */
export interface Listing<Row> {
  totalResults: number;
  /** Absent with cursors. */
  startIndex?: number;
  nextCursor?: string;
  rows: Row[];
}

/** Where the resources of a kind are. */
export interface Source {
  kind: ResourceKind;
  table: Table;
  /** Table, with the alias `u`. */
  from: string;
  /** Column of the id. */
  id: string;
  /** Columns of a row, of the alias `u`. */
  columns: Columns;
  /** Size of a row, bytes, as SQL on the alias `u`. Absent: too small to count. */
  size?: string;
  /** Number of resources without a filter. */
  total(tx: Tx, orgUuid: string): Promise<number>;
}

/** A row as it is read. */
type Found<Row> = Row & {
  /** Number of rows before the page was cut to its size. Absent where nothing depends on whether there are more. */
  uncut?: number;
  /** What its position is made of. Absent without cursors. */
  sortValue?: unknown;
  sortId?: string;
};

interface Order {
  column: Column;
  descending: boolean;
}

/** A page ends with the resource at which it has this many bytes: all of it is in memory at once. */
const MAX_PAGE_BYTES = 4_194_304;

const BY_CREATION: Column = { sql: "u.created_at", type: "time", notNull: true };
const CASTS = { uuid: "uuid", text: "text", boolean: "boolean", time: "timestamptz" } as const;

/** A condition for the rows after a position. Rows without a value are last ascending, and first descending. */
function after({ column, descending }: Order, id: string, position: Position, parameters: Parameters): string {
  const { sql, notNull, type } = column;
  const idAt = `${parameters.add(position.id)}::uuid`;
  const sign = descending ? "<" : ">";
  if (position.value === null)
    return descending
      ? `(${sql} is not null or (${sql} is null and ${id} ${sign} ${idAt}))`
      : `(${sql} is null and ${id} ${sign} ${idAt})`;
  const value = `${parameters.add(position.value)}::${CASTS[type]}`;
  if (notNull === true) return `(${sql}, ${id}) ${sign} (${value}, ${idAt})`;
  const nulls = descending ? "" : ` or ${sql} is null`;
  return `(${sql} ${sign} ${value} or (${sql} = ${value} and ${id} ${sign} ${idAt})${nulls})`;
}

/** Lists of resources of one kind. */
export function createLists<Row>(
  { database, cursors, baseUrlOf }: { database: Database; cursors: Cursors; baseUrlOf: (orgUuid: string) => string },
  source: Source,
) {
  const { kind, table, from, id, columns, size = "0" } = source;

  /** The condition and the order of a query. */
  function compile({ filter, sortBy }: ListRequest, parameters: Parameters): { where: string; column: Column } {
    const compiler = createCompiler(kind, table, parameters);
    return {
      where: filter ? ` and ${filtered(() => compiler.condition(parseFilter(filter)))}` : "",
      column: sortBy ? sorted(() => compiler.sortColumn(sortBy)) : BY_CREATION,
    };
  }

  return {
    /**
     * A page of an organization's resources. `fitting` returns how many of them are not too large together: the page
     * ends there, and has at least one.
     * @throws {invalidFilter} when the filter cannot be read, or names what no schema has
     * @throws {invalidValue} when the order is none
     * @throws {invalidCursor} when the cursor is not one of this list
     * @throws {expiredCursor} when the cursor is too old
     * @throws {invalidCount} when a page by cursor is to have no resource, or more than 200
     */
    async list(
      { caller }: CallerContext,
      request: ListRequest,
      fitting: (rows: readonly Row[]) => Promise<number> | number = ({ length }) => length,
    ): Promise<Listing<Row>> {
      const orgUuid = callerOrg(caller);
      const descending = isDescending(request.sortOrder);
      const { filter = "", sortBy = "", cursor } = request;
      const asked = request.count ?? DEFAULT_COUNT;
      const count = Math.max(0, Math.min(MAX_COUNT, asked));
      // An empty page by cursor has no next cursor, and would read as the last one (RFC 9865 §2).
      if (cursor !== undefined && (asked < 1 || asked > MAX_COUNT)) throw scimErrors.invalidCount();
      const scope: CursorScope = { orgUuid, kind: kind.name, filter, sortBy, descending };
      const position = cursor ? cursors.read(scope, cursor) : undefined;
      const startIndex = Math.max(1, request.startIndex ?? 1);
      const parameters = createParameters([orgUuid], baseUrlOf(orgUuid));
      const { where, column } = compile(request, parameters);
      const matching = `from ${from} where u.org_uuid = $1${where}`;
      const counted = [...parameters.values];
      const order: Order = { column, descending };
      const rest = position === undefined ? "" : ` and ${after(order, id, position, parameters)}`;
      const direction = descending ? "desc" : "asc";
      const limit = parameters.add(count + 1);
      const offset = cursor === undefined ? ` offset ${parameters.add(startIndex - 1)}` : "";
      // A fence for few matches: otherwise the planner may walk through all rows in their order until a page is full.
      const fenced = `(select u.* ${matching}${rest} offset 0) u`;
      const open = `${from} where u.org_uuid = $1${where}${rest}`;
      const isFiltered = where !== "";
      const uncut = cursor === undefined && !isFiltered ? {} : { uncut: "u.uncut" };
      const positions = cursor === undefined ? {} : { sortValue: "u.sort_value", sortId: `${id}::text` };
      // The columns are read of the rows that the page has, and not of those by which it would be too large.
      const pageOf = (few: boolean): string => `select ${selectList({ ...columns, ...uncut, ...positions })} from (
          select u.*, count(*) over ()::int as uncut, coalesce(
            sum(${size}) over (order by nth rows between unbounded preceding and 1 preceding), 0) as size_before
          from (
            select u.*, row_number() over (order by u.sort_value ${direction}, ${id} ${direction}) as nth from (
              select u.*, ${column.sql} as sort_value from ${few ? fenced : open}
              order by ${column.sql} ${direction}, ${id} ${direction} limit ${limit}${offset}) u) u) u
        where size_before < ${MAX_PAGE_BYTES} order by nth`;
      const [found, total] = await database.transaction(
        async (tx) => {
          const read = (few: boolean) => (count === 0 ? [] : tx.query<Found<Row>>(pageOf(few), parameters.values));
          // Without a filter the page does not depend on the number: both travel in one round trip.
          if (!isFiltered) return Promise.all([read(false), source.total(tx, orgUuid)]);
          const matches = await countOf(tx, matching, counted);
          return [matches === 0 ? [] : await read(matches <= MAX_EXACT), matches] as const;
        },
        { orgUuid },
      );
      const wanted = found.slice(0, count);
      const rows = wanted.slice(0, Math.max(1, await fitting(wanted)));
      const last = rows.at(-1);
      const hasMore = (found[0]?.uncut ?? 0) > rows.length;
      const seen = startIndex - 1 + rows.length + (hasMore ? 1 : 0);
      // Beyond the limit of exact counts, more than what has been seen: who pages by index reaches the end.
      const totalResults = total > MAX_EXACT && isFiltered && cursor === undefined ? Math.max(total, seen) : total;
      if (cursor === undefined) return { totalResults, startIndex, rows };
      if (!hasMore || last?.sortId === undefined) return { totalResults, rows };
      const { sortValue, sortId } = last;
      const value = sortValue instanceof Date ? sortValue.toISOString() : (sortValue as Position["value"]);
      return { totalResults, rows, nextCursor: cursors.after(scope, { value, id: sortId }) };
    },
  };
}

/** Number of matching resources, exact up to the limit of exact counts, otherwise that plus one. */
async function countOf(tx: Tx, matching: string, values: readonly unknown[]): Promise<number> {
  const sql = `select count(*)::int as counted from (select 1 ${matching} limit ${MAX_EXACT + 1}) matches`;
  return (await tx.query<{ counted: number }>(sql, values))[0]?.counted ?? 0;
}

function isDescending(sortOrder: string | undefined): boolean {
  const order = (sortOrder || "ascending").toLowerCase();
  if (order !== "ascending" && order !== "descending")
    throw scimErrors.invalidValue("sortOrder must be ascending or descending.");
  return order === "descending";
}

function filtered<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof FilterSyntaxError
      ? scimErrors.invalidFilter(`The filter cannot be read: ${error.message}.`)
      : error;
  }
}

function sorted<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof FilterSyntaxError ? scimErrors.invalidValue(`sortBy: ${error.message}.`) : error;
  }
}
