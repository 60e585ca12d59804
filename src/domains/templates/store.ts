import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
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
export function templatesOf(
  database: Reader,
  orgUuid: string,
  category: string | undefined,
  page: Page,
): Promise<Listed<TemplateRow>> {
  const from = "from templates where org_uuid = $1 and ($2::text is null or category = $2)";
  const sort = { created_at: createdAt(), name: byText("name") };
  const id = { sql: "id", type: "uuid" } as const;
  const list = { name: "templates", columns, from, params: [orgUuid, category], id, q: ["name"], sort };
  return readList(database, { ...list, order: "-created_at" }, page);
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
