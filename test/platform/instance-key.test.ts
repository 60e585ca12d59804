import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { compose } from "../../src/app/program.ts";
import type { App } from "../../src/app/app.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/platform/config.ts";
import { StartError } from "../../src/platform/start-error.ts";
import { silentLog } from "../../src/platform/log.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { callRest } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

const right = randomBytes(32);
const owner = { org: "Acme", email: "owner@acme.test", password: "correct horse battery staple" };
let home: TestDatabase;
beforeAll(async () => {
  home = await testDatabase();
});
afterAll(() => home.close());

/** Starts a service with a key; resolves to the status of its owner's login, or to the error of the start. */
async function startWith(
  key: Buffer,
  { url = home.url, previous }: { url?: string; previous?: Buffer } = {},
): Promise<number | Error> {
  const env = previous === undefined ? {} : { SERVICE_INSTANCE_KEY_PREVIOUS: previous.toString("base64") };
  const app: App = await compose(readConfig({ PORT: "0", ...env }), {
    role: "serve",
    databaseUrl: url,
    temporal: { address: "127.0.0.1:1", namespace: "none" },
    instanceKey: key,
    masterKey: undefined,
    bootstrap: owner,
    log: silentLog,
    clock: systemClock,
    random: systemRandom,
  });
  try {
    const { address = "" } = await app.start();
    const body = { email: owner.email, password: owner.password, org_name: owner.org };
    return (await callRest(address, "POST", "/api/auth/login", { body })).status;
  } catch (error) {
    return error as Error;
  } finally {
    await app.stop(1_000);
  }
}

it("a start with another instance key than that of the first start is refused in one line", async () => {
  expect(await startWith(right)).toBe(200);
  const refused = await startWith(randomBytes(32));
  expect(refused).toBeInstanceOf(StartError);
  expect((refused as Error).message).toMatch(/^SERVICE_INSTANCE_KEY is not the key .*$/);
  expect(await startWith(right)).toBe(200);
});

it("a database from before the check refuses a wrong key too and stores no check value of it", async () => {
  await runSql(home.url, "delete from key_checks");
  expect(await startWith(randomBytes(32))).toBeInstanceOf(StartError);
  expect(await runSql(home.url, "select 1 from key_checks")).toEqual([]);
  expect(await startWith(right)).toBe(200);
  expect(await runSql(home.url, "select 1 from key_checks")).toHaveLength(1);
});

it("exactly one of several first starts with different keys succeeds", async () => {
  const fresh = await testDatabase();
  try {
    const outcomes = await Promise.all([1, 2, 3].map(() => startWith(randomBytes(32), { url: fresh.url })));
    expect(outcomes.filter((outcome) => outcome === 200)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome instanceof StartError)).toHaveLength(2);
  } finally {
    await fresh.close();
  }
});

it("a service starts with a new key beside the previous one, which opens what it sealed", async () => {
  expect(await startWith(randomBytes(32), { previous: right })).toBe(200);
});
