import { createHash } from "node:crypto";
import type { CursorPaging } from "../cursors.ts";
import { unknownSort } from "../cursors.ts";
import type { Page } from "./paging.ts";
import { boundedCount, totalOf } from "./total.ts";
import type { Total } from "./total.ts";
import type { Database } from "./types.ts";

/** A field that a list may be sorted by: SQL without nulls, and its type. */
export interface SortField {
  sql: string;
  type: "text" | "timestamptz";
}

/** A list of rows of a table: which, in which orders, and what `q` looks into. */
export interface ListSource {
  /** Name of its statements. */
  name: string;
  columns: string;
  /** SQL from `from` to the end of `where …`, with parameters. */
  from: string;
  params: readonly unknown[];
  /** Unique column, which decides between rows of the same sort value. */
  id: { sql: string; type: "uuid" | "integer" | "bigint" };
  /** Texts that `q` looks into, as SQL. */
  q: readonly string[];
  /** Fields of `sort` as in the contract. */
  sort: Readonly<Record<string, SortField>>;
  /** Order without `sort`. */
  order: string;
  /** SQL of the order in which rows are counted, where the index of another order than `order` finds them. */
  countOrder?: string | undefined;
  /** Whether ids run with the order or against it; the indexes of lists have them against it. */
  ties?: "with" | "against";
}

/** A page of rows. */
export interface Listed<Row> extends Total {
  rows: Row[];
  /** Cursor of the next page; absent on the last, and without cursors. */
  nextCursor?: string;
}

/** Creation, for {@link ListSource.sort}. */
export const createdAt = (alias = ""): SortField => ({ sql: `${alias}created_at`, type: "timestamptz" });

/** A text in the order of its lower-case form, for {@link ListSource.sort}. */
export const byText = (column: string): SortField => ({ sql: `lower(${column})`, type: "text" });

/**
 * A condition for rows in which one of the texts contains the parameter, in any case; whatever the locale of the
 * database. Texts may be null. Folds the texts of a row together, separated by U+0001, and the parameter once: folding
 * is what a search costs.
 */
export function containing(texts: readonly string[], param: string): string {
  return `strpos(lower_case(concat_ws(chr(1), ${texts.join(", ")})), (select lower_case(${param}::text))) > 0`;
}

/** @throws {validation_error} when the list has no such order */
function orderOf(source: ListSource, wanted: string) {
  const descending = wanted.startsWith("-");
  const name = wanted.replace(/^-/u, "");
  const field = Object.hasOwn(source.sort, name) ? source.sort[name] : undefined;
  if (field === undefined) throw unknownSort(Object.keys(source.sort));
  const idDirection = descending === (source.ties === "with") ? "desc" : "asc";
  const direction = descending ? "desc" : "asc";
  return {
    field,
    descending,
    idDirection,
    order: `order by ${field.sql} ${direction}, ${source.id.sql} ${idDirection}`,
  };
}

/**
 * Reads a page of a list. With a cursor the page begins after the position it stands for, so that rows that are made
 * or go meanwhile shift nothing.
 * @throws {validation_error} when the list has no such order
 */
export async function readList<Row extends object>(
  database: Pick<Database, "prepared">,
  source: ListSource,
  { limit, offset, q, sort }: Page,
  paging?: CursorPaging,
): Promise<Listed<Row>> {
  const { field, descending, idDirection, order } = orderOf(source, sort ?? source.order);
  const params = [...source.params];
  const bind = (value: unknown): string => `$${params.push(value)}`;
  const from = q === undefined ? source.from : `${source.from} and ${containing(source.q, bind(q))}`;
  const counted = [...params];
  const { id } = source;
  const [sign, idSign] = [descending ? "<" : ">", idDirection === "desc" ? "<" : ">"];
  let after = "";
  if (paging?.position !== undefined) {
    const value = `${bind(paging.position.value)}::${field.type}`;
    const idAt = `${bind(paging.position.id)}::${id.type}`;
    // The first comparison is what an index takes.
    after = ` and ${field.sql} ${sign}= ${value} and (${field.sql} ${sign} ${value} or ${id.sql} ${idSign} ${idAt})`;
  }
  const window = paging === undefined ? `limit ${bind(limit)} offset ${bind(offset)}` : `limit ${bind(limit + 1)}`;
  // As text: times have microseconds, which a Date has not.
  const sql = `select ${source.columns}, ${field.sql}::text as "sortValue", ${id.sql}::text as "sortId"
    ${from}${after} ${order} ${window}`;
  const nameOf = (text: string): string =>
    `${source.name}_${createHash("sha256").update(text).digest("base64url").slice(0, 12)}`;
  // Counted in an order, so that PostgreSQL reads its index and not the table.
  const countOrder =
    source.countOrder === undefined ? orderOf(source, source.order).order : `order by ${source.countOrder}`;
  const countSql = boundedCount(`${from} ${countOrder}`);
  type Found = Row & { sortValue?: string; sortId?: string };
  const [found, counts] = await Promise.all([
    database.prepared<Found>(nameOf(sql), sql, params),
    database.prepared<{ counted: number }>(nameOf(countSql), countSql, counted),
  ]);
  const last = found[limit - 1];
  const { sortValue: value = "", sortId = "" } = last ?? {};
  const hasMore = paging !== undefined && found.length > limit;
  const rows = found.slice(0, limit);
  for (const row of rows) {
    delete row.sortValue;
    delete row.sortId;
  }
  return { rows, ...totalOf(counts), ...(hasMore && { nextCursor: paging.next({ value, id: sortId }) }) };
}
