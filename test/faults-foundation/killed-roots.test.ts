import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { freePort, runSql } from "../support/postgres.ts";
import { runProgram, testFolder } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";
import { temporalServer } from "../support/temporal.ts";

const ORGANIZATIONS = 1_500;
const folder = testFolder();
let database: TestDatabase;
let env: Record<string, string>;
let program: ProgramRun | undefined;

beforeAll(async () => {
  database = await testDatabase();
  const [{ address, namespace }, port] = await Promise.all([temporalServer(), freePort()]);
  env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    PORT: String(port),
    SERVICE_INSTANCE_KEY: Buffer.alloc(32, 7).toString("base64"),
    SERVICE_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
    SERVICE_BOOTSTRAP_PASSWORD: "correct horse battery staple",
    SERVICE_DATA_DIR: folder.path,
  };
});
afterAll(async () => {
  if (program !== undefined) await kill(program);
  await database.close();
  folder.remove();
});

async function start(): Promise<ProgramRun> {
  const started = runProgram("src/main.ts", ["all"], env);
  await started.until(/Ready on/u);
  return started;
}

async function kill(running: ProgramRun): Promise<void> {
  process.kill(running.pid, "SIGKILL");
  await running.exit;
}

const missing = async (): Promise<number> => {
  const sql = `select count(*)::int as n from organizations o
    where deleted_at is null and not exists (select 1 from spiffe_roots r where r.org_uuid = o.uuid)`;
  return (await runSql<{ n: number }>(database.url, sql))[0]?.n ?? -1;
};

it("organizations older than their root all get one, although the service is killed meanwhile", async () => {
  program = await start();
  await kill(program);
  const seed = `insert into organizations (uuid, name, created_at, updated_at)
    select gen_random_uuid(), 'Older ' || n, now(), now() from generate_series(1, $1::int) n`;
  await runSql(database.url, seed, [ORGANIZATIONS]);
  program = await start();
  await expect.poll(missing, { interval: 5 }).toBeLessThan(ORGANIZATIONS);
  await kill(program);
  const left = await missing();
  expect(left).toBeGreaterThan(0);
  program = await start();
  await expect.poll(missing, { timeout: 120_000, interval: 250 }).toBe(0);
  const rows = await runSql<{ org: string; certificate: Buffer }>(
    database.url,
    "select org_uuid as org, certificate from spiffe_roots",
  );
  expect(rows).toHaveLength(ORGANIZATIONS + 1);
  for (const { org, certificate } of rows)
    expect(new X509Certificate(certificate).subjectAltName).toBe(`URI:spiffe://${org}.atrium.local`);
});
