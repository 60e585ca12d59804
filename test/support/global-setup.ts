import type { TestProject } from "vitest/node";
import { migrations } from "../../src/migrations/index.ts";
import { migrate } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { databaseUrl, runSql, startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Maintenance database of the test server. */
    postgresUrl: string;
    /** Name of the migrated database that test databases are copied from. */
    templateDatabase: string;
  }
}

/** One server for the whole run, one template database, migrated once. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  const template = `atrium_template_${process.pid}`;
  await runSql(server.url, `create database ${template}`);
  await migrate({ url: databaseUrl(server.url, template), migrations, log: silentLog });
  project.provide("postgresUrl", server.url);
  project.provide("templateDatabase", template);
  return async () => {
    await runSql(server.url, `drop database ${template} with (force)`);
    await server.stop();
  };
}
