import type { TestProject } from "vitest/node";
import { migrations } from "../../src/migrations/index.ts";
import { migrate } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { databaseUrl, runSql, startPostgres } from "./postgres.ts";
import { startTemporal } from "./temporal-process.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Maintenance database of the test server. */
    postgresUrl: string;
    /** Name of the migrated database that test databases are copied from. */
    templateDatabase: string;
    /** Temporal server of the run; `temporalServer()` waits until it is ready. */
    temporalAddress: string;
  }
}

/** One PostgreSQL and one Temporal server for the whole run; one template database, migrated once. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const temporal = await startTemporal();
  const server = await startPostgres();
  const template = `atrium_template_${process.pid}`;
  await runSql(server.url, `create database ${template}`);
  await migrate({ url: databaseUrl(server.url, template), migrations, log: silentLog });
  project.provide("postgresUrl", server.url);
  project.provide("templateDatabase", template);
  project.provide("temporalAddress", temporal.address);
  return async () => {
    await runSql(server.url, `drop database ${template} with (force)`);
    await Promise.all([server.stop(), temporal.stop()]);
  };
}
