import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openTestDatabase, testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

let home: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  home = await testDatabase();
  app = await startApp({ databaseUrl: home.url });
});
afterAll(async () => {
  await app.close();
  await home.close();
});

/** Decides whether sessions that begin later can write. */
async function setReadOnly(to: "on" | "off"): Promise<void> {
  const name = new URL(home.url).pathname.slice(1);
  await runSql(inject("postgresUrl"), `alter database ${name} set default_transaction_read_only = ${to}`);
}
const endSessions = () =>
  runSql(inject("postgresUrl"), "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [
    new URL(home.url).pathname.slice(1),
  ]);

async function login(): Promise<number> {
  const { email, password, org } = app.owner;
  return (await app.call("POST", "/api/auth/login", { body: { email, password, org_name: org } })).status;
}
async function readyz(): Promise<[number, string]> {
  app.clock.advance(2_000);
  const { status, body } = await app.call("GET", "/readyz");
  return [status, body.database];
}

test("a service recovers without a restart from connections that were read-only", async () => {
  expect([await login(), await readyz()]).toEqual([200, [200, "ok"]]);
  await setReadOnly("on");
  await endSessions();
  await expect.poll(readyz).toEqual([503, "read-only"]);
  expect(await login()).toBe(503);
  await setReadOnly("off");
  await expect.poll(login).toBe(200);
  await expect.poll(readyz).toEqual([200, "ok"]);
  for (let attempt = 0; attempt < 5; attempt++) expect(await login()).toBe(200);
});

test("slow lists of two organizations leave a service ready", async () => {
  const database = await openTestDatabase();
  try {
    const slow = Array.from({ length: 4 }, () => database.prepared("slow", "select pg_sleep(3)", []));
    await expect.poll(() => database.pools().prepared).toMatchObject({ total: 4, idle: 0 });
    expect(await database.ready()).toEqual({ database: "ok", migrations: "ok" });
    await Promise.all(slow);
  } finally {
    await database.close();
  }
});
