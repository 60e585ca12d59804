import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { DatabaseOptions, OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testClock } from "./clock.ts";
import { databaseUrl, runSql } from "./postgres.ts";

/** A database of one test file. */
export interface TestDatabase {
  /** Its address as the owner; a service switches to the restricted role by itself. */
  url: string;
  /** Removes it, connections or not. */
  close(): Promise<void>;
}

/** A fresh database: a copy of the migrated template, or an empty one. */
export async function testDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const server = inject("postgresUrl");
  const name = `atrium_test_${randomBytes(6).toString("hex")}`;
  await runSql(
    server,
    options.empty === true
      ? `create database ${name}`
      : `create database ${name} template ${inject("templateDatabase")} strategy file_copy`,
  );
  return {
    url: databaseUrl(server, name),
    async close() {
      await runSql(server, `drop database if exists ${name} with (force)`);
    },
  };
}

/** A new database, opened as the service opens it; closing the result drops the database. */
export async function openTestDatabase(
  options: Partial<DatabaseOptions> = {},
): Promise<OpenDatabase & { url: string }> {
  const { url, close } = await testDatabase();
  const database = await openDatabase({
    url,
    entities: [],
    migrations,
    clock: testClock(),
    log: silentLog,
    guarded: true,
    ...options,
  });
  return {
    ...database,
    url,
    async close() {
      await database.close();
      await close();
    },
  };
}
