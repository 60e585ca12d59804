import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { secretsOf } from "./support.ts";

/** Wait of the tidy poller, by the machine's clock. */
const TIDY_MS = 600_000;

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_TTL_PAIR: "60d" } });
});
afterAll(() => app.close());

test("a worker purges the secrets that were deleted 30 days ago", async () => {
  const { databaseUrl, clock } = app;
  const who = await founder(app);
  const secrets = secretsOf(app, who);
  for (const name of ["gone", "kept"]) expect((await secrets.put(name, "value")).status).toBe(200);
  expect((await secrets.remove("gone")).status).toBe(204);
  clock.advance(30 * 86_400_000);

  const { setTimeout: later } = globalThis;
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run: () => void, ms?: number, ...args: []) =>
    later(run, ms === TIDY_MS ? 100 : ms, ...args),
  );
  const worker = await startApp({ role: "worker", databaseUrl, clock, temporal: await temporalServer() });
  onTestFinished(() => worker.close());
  const stored = "select name from vault_secrets where org_uuid = $1 order by name";
  await expect.poll(() => runSql(databaseUrl, stored, [who.org])).toEqual([{ name: "kept" }]);
  const versions = "select 1 from vault_versions join vault_secrets using (secret_id) where org_uuid = $1";
  expect(await runSql(databaseUrl, versions, [who.org])).toHaveLength(1);
});
