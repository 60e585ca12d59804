import type pg from "pg";
import { describeDatabase } from "./connection.ts";
import { DatabaseStartError } from "./failure.ts";
import { droppedOptions } from "./pooler.ts";
import { HAS_OPTIONS } from "./session-settings.ts";

/** Table with the names of the migrations that have run. */
export const migrationTable = "schema_migrations";
/** The oldest PostgreSQL with what migrations use: `nulls not distinct`, and views with `security_invoker`. */
const OLDEST_MAJOR = 15;

interface Found {
  version: string;
  number: number;
  encoding: string;
  isNew: boolean;
  hasOptions: boolean;
}

/**
 * Checks the server before migrations change anything.
 * @throws {DatabaseStartError} when it is too old, when a new database cannot store every text, or when a connection
 *   pooler drops the settings of the connection
 */
export async function demandSupported(client: pg.Client, url: string): Promise<void> {
  const sql = `select current_setting('server_version') as version,
    current_setting('server_version_num')::int as number, getdatabaseencoding() as encoding,
    to_regclass('${migrationTable}') is null as "isNew", ${HAS_OPTIONS} as "hasOptions"`;
  const [found] = (await client.query<Found>(sql)).rows;
  if (found === undefined) return;
  const { version, number, encoding, isNew, hasOptions } = found;
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
  // Such a pooler may run the next statement in another session, which does not have the lock of migrations.
  if (!hasOptions) throw droppedOptions(describeDatabase(url));
}
