import { boundedCount, totalOf } from "../../platform/db/total.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** A template without its body. */
export interface TemplateRow {
  id: string;
  name: string;
  category: string;
  /** Names of its placeholders: those declared, and those of the body. */
  variables: string[];
  createdAt: Date;
}

/** A whole template. */
export interface StoredTemplate extends TemplateRow {
  declared: string[];
  /** Null for the default layout. */
  body: string | null;
}

/** A template to render. */
export interface RenderedRow {
  name: string;
  variables: string[];
  /** Grows with every change. */
  revision: number;
  /** Undefined when the revision is the one that is known. */
  body?: string | null;
}

type Reader = Pick<Database, "prepared">;
const columns = `id, name, category, variables, created_at as "createdAt"`;

/** Templates of an organization, newest first. */
export async function templatesOf(
  database: Reader,
  orgUuid: string,
  category: string | undefined,
  limit: number,
  offset: number,
): Promise<{ rows: TemplateRow[] } & Total> {
  const from = "from templates where org_uuid = $1 and ($2::text is null or category = $2)";
  const [rows, counts] = await Promise.all([
    database.prepared<TemplateRow>(
      "templates-list",
      `select ${columns} ${from} order by created_at desc, id limit $3 offset $4`,
      [orgUuid, category, limit, offset],
    ),
    database.prepared<{ counted: number }>("templates-count", boundedCount(from), [orgUuid, category]),
  ]);
  return { rows, ...totalOf(counts) };
}

/** A template of an organization; undefined when there is none. */
export async function findTemplate(database: Reader, orgUuid: string, id: string): Promise<StoredTemplate | undefined> {
  const sql = `select ${columns}, declared, body from templates where id = $1 and org_uuid = $2`;
  return (await database.prepared<StoredTemplate>("template-read", sql, [id, orgUuid]))[0];
}

/** A template to render, without its body where `known` is its revision. */
export async function findToRender(
  database: Reader,
  orgUuid: string,
  id: string,
  known: number | undefined,
): Promise<RenderedRow | undefined> {
  const sql = `select name, variables, revision, case when revision = $3 then null else body end as body
    from templates where id = $1 and org_uuid = $2`;
  const [row] = await database.prepared<RenderedRow>("template-render", sql, [id, orgUuid, known]);
  if (row === undefined || row.revision !== known) return row;
  return { name: row.name, variables: row.variables, revision: row.revision };
}

/**
 * Stores a template; false when the organization has `most`. The organization's row orders concurrent additions, so
 * that none passes the limit.
 */
export async function insertTemplate(
  tx: Tx,
  orgUuid: string,
  { id, name, category, declared, variables, body, createdAt }: StoredTemplate,
  most: number,
): Promise<boolean> {
  await tx.query("select 1 from organizations where uuid = $1 for no key update", [orgUuid]);
  const rows = await tx.query(
    `insert into templates (id, org_uuid, name, category, declared, variables, body, created_at)
     select $1, $2, $3, $4, $5, $6, $7, $8
     where (select count(*) from (select 1 from templates where org_uuid = $2 limit $9) as own) < $9
     returning 1 as one`,
    [id, orgUuid, name, category, declared, variables, body, createdAt, most],
  );
  return rows.length > 0;
}

/** Locks a template; undefined when there is none. */
export async function lockTemplate(tx: Tx, orgUuid: string, id: string): Promise<StoredTemplate | undefined> {
  const sql = `select ${columns}, declared, body from templates where id = $1 and org_uuid = $2 for update`;
  return (await tx.query<StoredTemplate>(sql, [id, orgUuid]))[0];
}

/** Replaces a locked template. */
export async function updateTemplate(tx: Tx, row: StoredTemplate): Promise<void> {
  await tx.query(
    `update templates set name = $2, category = $3, declared = $4, variables = $5, body = $6, revision = revision + 1
     where id = $1`,
    [row.id, row.name, row.category, row.declared, row.variables, row.body],
  );
}

/** Deletes a template; returns its name, undefined when there was none. */
export async function deleteTemplate(tx: Tx, orgUuid: string, id: string): Promise<string | undefined> {
  const sql = "delete from templates where id = $1 and org_uuid = $2 returning name";
  return (await tx.query<{ name: string }>(sql, [id, orgUuid]))[0]?.name;
}
