import type pg from "pg";
import { describeDatabase } from "./connection.ts";
import { DatabaseStartError } from "./failure.ts";

/** Table with the names of the migrations that have run. */
export const migrationTable = "schema_migrations";
/** The oldest PostgreSQL with what migrations use: `nulls not distinct`, and views with `security_invoker`. */
const OLDEST_MAJOR = 15;

/**
 * Checks the server before migrations change anything.
 * @throws {DatabaseStartError} when it is too old, or when a new database cannot store every text
 */
export async function demandSupported(client: pg.Client, url: string): Promise<void> {
  const sql = `select current_setting('server_version') as version,
    current_setting('server_version_num')::int as number, getdatabaseencoding() as encoding,
    to_regclass('${migrationTable}') is null as "isNew"`;
  const [found] = (await client.query<{ version: string; number: number; encoding: string; isNew: boolean }>(sql)).rows;
  if (found === undefined) return;
  const { version, number, encoding, isNew } = found;
  if (number < OLDEST_MAJOR * 10_000)
    throw new DatabaseStartError(
      `The database ${describeDatabase(url)} is PostgreSQL ${version}, but Atrium needs PostgreSQL ${OLDEST_MAJOR} ` +
        "or newer; upgrade the server, or name another one.",
    );
  if (isNew && encoding !== "UTF8")
    throw new DatabaseStartError(
      `The database ${describeDatabase(url)} has the encoding ${encoding}, but Atrium needs UTF8; ` +
        "create it with: encoding 'UTF8' template template0.",
    );
}
