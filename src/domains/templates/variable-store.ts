import { createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** A custom variable; without owner it is global. */
export interface VariableRow {
  id: number;
  key: string;
  value: string;
  ownerUuid: string | null;
}

type Reader = Pick<Database, "prepared">;
const columns = `id, key, value, owner_uuid as "ownerUuid"`;

/** Variables that a person sees, by key and scope: global ones and their own, or only those of one scope. */
export function variablesOf(
  database: Reader,
  orgUuid: string,
  userUuid: string | null,
  scope: string | undefined,
  page: Page,
): Promise<Listed<VariableRow>> {
  const from = `from custom_variables where org_uuid = $1
    and ((owner_uuid is null and $3::text is distinct from 'user')
      or (owner_uuid = $2 and $3::text is distinct from 'global'))`;
  const sort = { key: { sql: "key", type: "text" }, created_at: createdAt() } as const;
  const id = { sql: "id", type: "integer" } as const;
  const list = { name: "variables", columns, from, params: [orgUuid, userUuid, scope], id, q: ["key"], sort };
  return readList(database, { ...list, order: "key", ties: "with" }, page);
}

/**
 * Values of some names: of a person's own variables, else of global ones. Undefined when they have more than `maxBytes`
 * together.
 */
export async function valuesOf(
  database: Reader,
  orgUuid: string,
  userUuid: string | null,
  names: readonly string[],
  maxBytes: number,
): Promise<Map<string, string> | undefined> {
  const rows = await database.prepared<{ key: string; value: string | null }>(
    "variables-values",
    `select key, case when sum(octet_length(value)) over () <= $4 then value end as value
     from (
       select distinct on (key) key, value from custom_variables
       where org_uuid = $1 and (owner_uuid is null or owner_uuid = $2) and key = any ($3)
       order by key, owner_uuid nulls last) v`,
    [orgUuid, userUuid, names, maxBytes],
  );
  const values = rows.flatMap(({ key, value }) => (value === null ? [] : [[key, value] as const]));
  return values.length === rows.length ? new Map(values) : undefined;
}

/**
 * Stores a variable. The organization's row orders concurrent additions, so that none passes the limit.
 * Returns its id, `exists` when the key is taken in its scope, `full` when the scope has `most` variables.
 */
export async function insertVariable(
  tx: Tx,
  orgUuid: string,
  { key, value, ownerUuid }: Omit<VariableRow, "id">,
  at: Date,
  most: number,
): Promise<number | "exists" | "full"> {
  await tx.query("select 1 from organizations where uuid = $1 for no key update", [orgUuid]);
  const [state] = await tx.query<{ count: number; taken: boolean }>(
    `select count(*)::int as count, coalesce(bool_or(key = $3), false) as taken from custom_variables
     where org_uuid = $1 and owner_uuid is not distinct from $2`,
    [orgUuid, ownerUuid, key],
  );
  if (state?.taken === true) return "exists";
  if ((state?.count ?? 0) >= most) return "full";
  const [row] = await tx.query<{ id: number }>(
    `insert into custom_variables (org_uuid, owner_uuid, key, value, created_at) values ($1, $2, $3, $4, $5)
     on conflict (org_uuid, owner_uuid, key) do nothing returning id`,
    [orgUuid, ownerUuid, key, value, at],
  );
  return row?.id ?? "exists";
}

/** Locks a variable that a person sees; undefined when there is none. An id may exceed those of the table. */
export async function lockVariable(
  tx: Tx,
  orgUuid: string,
  userUuid: string | null,
  id: number,
): Promise<VariableRow | undefined> {
  const sql = `select ${columns} from custom_variables
    where id = $1::bigint and org_uuid = $2 and (owner_uuid is null or owner_uuid = $3) for update`;
  return (await tx.query<VariableRow>(sql, [id, orgUuid, userUuid]))[0];
}

/** Whether a key is taken in the scope of a variable by another one. */
export async function isKeyTaken(tx: Tx, orgUuid: string, row: VariableRow): Promise<boolean> {
  const sql = `select 1 as one from custom_variables
    where org_uuid = $1 and owner_uuid is not distinct from $2 and key = $3 and id <> $4`;
  await tx.query("select 1 from organizations where uuid = $1 for no key update", [orgUuid]);
  return (await tx.query(sql, [orgUuid, row.ownerUuid, row.key, row.id])).length > 0;
}

/** Replaces key and value of a locked variable. */
export async function updateVariable(tx: Tx, { id, key, value }: VariableRow): Promise<void> {
  await tx.query("update custom_variables set key = $2, value = $3 where id = $1", [id, key, value]);
}

/** Deletes a locked variable. */
export async function deleteVariable(tx: Tx, id: number): Promise<void> {
  await tx.query("delete from custom_variables where id = $1", [id]);
}
