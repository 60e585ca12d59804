import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";

/** More than two batches. */
const ORGANIZATIONS = 120;

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

test("a worker creates the roots of all organizations that have none, without a request", async () => {
  const { databaseUrl, clock } = app;
  await runSql(
    databaseUrl,
    `insert into organizations (uuid, name, created_at, updated_at)
     select gen_random_uuid(), 'Old ' || n, now(), now() from generate_series(1, $1) n`,
    [ORGANIZATIONS],
  );
  await runSql(databaseUrl, "delete from spiffe_roots");
  const count = (table: string) => runSql(databaseUrl, `select count(*)::int from ${table}`);
  const worker = await startApp({ role: "worker", databaseUrl, clock, temporal: await temporalServer() });
  onTestFinished(() => worker.close());
  await expect.poll(() => count("spiffe_roots")).toEqual(await count("organizations"));
});
