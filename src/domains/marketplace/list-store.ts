import type { EntityManager } from "@mikro-orm/postgresql";
import { boundedCount, totalOf } from "../../platform/db/total.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Page } from "./deps.ts";

/** The members of a filter that are set. */
export function givenMembers(filter: object): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** Counts the rows of a table by column; in the list's own order, so that PostgreSQL reads the index of the list. */
export async function countRows(
  em: EntityManager,
  table: string,
  filter: Record<string, string | undefined>,
  order: string,
): Promise<Total> {
  const columns = Object.entries(givenMembers(filter));
  const where = columns.length === 0 ? "" : ` where ${columns.map(([name]) => `${name} = ?`).join(" and ")}`;
  const sql = boundedCount(`from ${table}${where} order by ${order}`);
  const values = columns.map(([, value]) => value);
  return totalOf(await em.getConnection().execute<{ counted: number }[]>(sql, values));
}

/** Reads a page of rows with their total; counts in the list's own order, see {@link countRows}. */
export async function pageOfRows<R extends { createdAt: Date }>(
  em: EntityManager,
  { columns, from, order }: { columns: string; from: string; order: string },
  params: unknown[],
  page: Page,
): Promise<{ rows: R[] } & Total> {
  const connection = em.getConnection();
  const rows = await connection.execute<R[]>(`select ${columns} from ${from} order by ${order} limit ? offset ?`, [
    ...params,
    page.limit,
    page.offset,
  ]);
  const total = await connection.execute<{ counted: number }[]>(boundedCount(`from ${from} order by ${order}`), params);
  // The driver returns times as text here.
  return { rows: rows.map((row) => ({ ...row, createdAt: new Date(row.createdAt) })), ...totalOf(total) };
}
