import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SEALED_COLUMNS } from "../../src/app/rewrap.ts";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import { pageOfBoxes } from "../../src/platform/crypto/rewrap-store.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import { migrations } from "../../src/migrations/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { runCommand } from "../cli/run-command.ts";
import { codeAt } from "../mfa/support.ts";
import { INSTANCE_KEY, MASTER_KEY, startApp } from "../support/app.ts";
import type { AppOptions, TestApp } from "../support/app.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { elevated, founder, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { NODE_COMPILE_CACHE } from "../support/program.ts";
import { secretsOf } from "../vault/support.ts";

/** Rows enough for many batches. */
const TOKENS = 20_000;
const instanceKey = randomBytes(32);
const masterKey = randomBytes(32);
const clock = testClock();
const previous = {
  SERVICE_INSTANCE_KEY_PREVIOUS: INSTANCE_KEY.toString("base64"),
  SERVICE_MASTER_KEY_PREVIOUS: MASTER_KEY.toString("base64"),
};
const env = () => ({
  DATABASE_URL: database.url,
  SERVICE_INSTANCE_KEY: instanceKey.toString("base64"),
  SERVICE_MASTER_KEY: masterKey.toString("base64"),
  ...previous,
});

let database: TestDatabase;
let old: TestApp;
let who: Somebody;
let totpSecret = "";
let hook = "";
let answer: unknown;

const start = (options: AppOptions = {}): Promise<TestApp> =>
  startApp({ databaseUrl: database.url, clock, instanceKey, masterKey, ...options });
const createHook = (app: TestApp, key: string) =>
  app.call("POST", "/api/v2/webhooks", {
    token: who.token,
    body: { url: "https://example.com/hook", events: ["*"], scope: "org" },
    headers: { "idempotency-key": key },
  });

/** Signs in with the second factor, which needs the TOTP secret and a signing key. */
async function signIn(app: TestApp): Promise<number> {
  clock.advance(30_000);
  const { body } = await app.call("POST", "/api/auth/login", {
    body: { email: who.email, password, org_name: who.orgName },
  });
  const code = codeAt(totpSecret, clock.now());
  const done = await app.call("POST", "/api/auth/mfa/totp/challenge", { body: { mfa_token: body.mfa_token, code } });
  if (done.status === 200) who = { ...who, token: done.body.access_token };
  return done.status;
}

/** Columns with a value that these keys do not open, and the number of values. */
async function closedTo(instance: Buffer, master: Buffer): Promise<{ closed: string[]; values: number }> {
  const sealers = { instance: createSealer(instance), master: createSealer(master) };
  const db = await openDatabase({ url: database.url, entities: [], migrations, clock, log: silentLog });
  // Opened after the transaction, which must not be idle while a slow machine opens thousands of values.
  const pages = await db.transaction(async (tx) => {
    const read: { column: (typeof SEALED_COLUMNS)[number]; boxes: Awaited<ReturnType<typeof pageOfBoxes>> }[] = [];
    for (const column of SEALED_COLUMNS)
      read.push({ column, boxes: await pageOfBoxes(tx, column, undefined, TOKENS * 2) });
    return read;
  });
  const closed = new Set<string>();
  let values = 0;
  for (const { column, boxes } of pages) {
    for (const { box, row } of boxes) {
      values++;
      try {
        sealers[column.by].open(box, column.context(row));
      } catch {
        closed.add(`${column.table}.${column.column}`);
      }
    }
  }
  await db.close();
  return { closed: [...closed].toSorted(), values };
}

beforeAll(async () => {
  database = await testDatabase();
  old = await start({ instanceKey: INSTANCE_KEY, masterKey: MASTER_KEY, env: { SERVICE_OPEN_SIGNUP: "on" } });
  who = await founder(old);
  const { body: factor } = await old.call("POST", "/api/v1/me/mfa/factors", {
    token: who.token,
    body: { factor_type: "totp" },
  });
  const { id, secret } = factor.data as { id: number; secret: string };
  totpSecret = secret;
  const verified = await old.call("POST", `/api/v1/me/mfa/factors/${id}/verify`, {
    token: who.token,
    body: { code: codeAt(secret, clock.now()) },
  });
  expect(verified.status).toBe(200);
  expect((await secretsOf(old, who).put("database", "s3cret")).status).toBe(200);
  const hooked = await createHook(old, "first");
  expect(hooked.status).toBe(201);
  answer = hooked.body;
  hook = hooked.body.data?.webhook_id ?? hooked.body.webhook_id;
  const refreshed = await old.call("POST", "/api/auth/refresh", { body: { refresh_token: who.refreshToken } });
  expect(refreshed.status).toBe(200);
  await old.call("POST", "/api/auth/otp", { body: { email: who.email } });
  const sealer = createSealer(INSTANCE_KEY);
  const hashes = Array.from({ length: TOKENS }, () => randomBytes(32));
  await runSql(
    database.url,
    `insert into refresh_tokens (hash, session_uuid, created_at, expires_at, used_at, successor)
     select hash, (select uuid from sessions limit 1), now(), now() + interval '1 day', now(), successor
     from unnest($1::bytea[], $2::bytea[]) as n (hash, successor)`,
    [hashes, hashes.map((hash) => sealer.seal("token", `refresh-successor:${hash.toString("hex")}`))],
  );
});
afterAll(() => database.close());

it("a start with new keys alone is refused before rewrap", async () => {
  await old.close();
  await expect(start()).rejects.toThrow(/SERVICE_INSTANCE_KEY is not the key/u);
});

it("rewrap refuses to run without a previous key, and with keys that are the same", async () => {
  const { SERVICE_INSTANCE_KEY_PREVIOUS: _i, SERVICE_MASTER_KEY_PREVIOUS: _m, ...bare } = env();
  const without = await runCommand(["rewrap"], bare);
  expect(without).toMatchObject({ code: 1, err: expect.stringMatching(/^atrium: Set SERVICE_INSTANCE_KEY_PREVIOUS/u) });
  const same = await runCommand(["rewrap"], { ...env(), SERVICE_INSTANCE_KEY: previous.SERVICE_INSTANCE_KEY_PREVIOUS });
  expect(same).toMatchObject({ code: 1, err: expect.stringContaining("nothing is to be moved") });
});

it("rewrap moves every sealed value while the service runs, over kills at any point", async () => {
  const app = await start({ env: previous });
  try {
    // Every kind of value that the test made is there, and sealed with the previous keys.
    const before = await closedTo(instanceKey, masterKey);
    for (const column of ["idempotency_records.answer", "mfa_factors.secret", "outbox.payload", "webhooks.secret"])
      expect(before.closed).toContain(column);
    for (const column of ["key_checks.box", "signing_keys.private_key", "vault_keyrings.box", "vault_seal.key_check"])
      expect(before.closed).toContain(column);
    for (const column of ["refresh_tokens.successor", "spiffe_roots.private_key", "one_time_codes.key"])
      expect(before.closed).toContain(column);

    const statuses = new Set<number>();
    let isDone = false;
    const load = (async () => {
      while (!isDone) {
        statuses.add(await signIn(app));
        statuses.add((await secretsOf(app, who).get("database")).status);
        await sleep(20);
      }
    })();
    for (const share of [0.1, 0.5]) await killAt(share);
    const { code, out } = await runCommand(["rewrap"], env());
    isDone = true;
    await load;
    expect(out).toMatch(/^refresh_tokens\.successor: 2\d{4} read, \d+ moved$/mu);
    expect(out).toMatch(/^Done: everything is sealed with the present keys/mu);
    expect(code).toBe(0);
    expect([...statuses]).toEqual([200]);
  } finally {
    await app.close();
  }
  const after = await closedTo(instanceKey, masterKey);
  expect(after.closed).toEqual([]);
  expect(after.values).toBeGreaterThan(TOKENS);
  const again = await runCommand(["rewrap"], env());
  expect(again).toMatchObject({ code: 0, err: "" });
  // A run that takes a while tells how far it is.
  expect(again.out).not.toMatch(/[1-9]\d* moved/u);
});

it("with the new keys alone, sign-ins, secrets, webhooks and stored responses are as before", async () => {
  const app = await start();
  try {
    expect(await signIn(app)).toBe(200);
    expect((await secretsOf(app, who).get("database")).body).toMatchObject({ value: "s3cret" });
    const replayed = await createHook(app, "first");
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect(replayed.body).toEqual(answer);
    const token = await elevated(app, who.token);
    const rotated = await app.call("POST", `/api/webhooks/${hook}/rotate-secret`, { token });
    expect(rotated.status).toBe(200);
  } finally {
    await app.close();
  }
});

it("a value that neither key opens stays, is counted, and fails the run", async () => {
  await runSql(database.url, "update mfa_factors set secret = $1", [randomBytes(60)]);
  const { code, out } = await runCommand(["rewrap"], env());
  expect(code).toBe(1);
  expect(out).toContain("mfa_factors.secret: 1 read, 0 moved, 1 that neither key opens");
  expect(out).toContain("Not done: neither key opens 1 values");
});

/** Starts rewrap and kills it when it has moved this share of the refresh tokens. */
async function killAt(share: number): Promise<void> {
  const rows = await runSql<{ hash: Buffer; successor: Buffer }>(
    database.url,
    "select hash, successor from refresh_tokens where successor is not null order by hash offset $1 limit 1",
    [Math.floor(TOKENS * share)],
  );
  const child = spawn(process.execPath, ["src/main.ts", "rewrap"], {
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE, ...env() },
    stdio: "ignore",
  });
  const exit = once(child, "close");
  const sql = "select 1 as one from refresh_tokens where hash = $1 and successor <> $2";
  while ((await runSql(database.url, sql, [rows[0]?.hash, rows[0]?.successor])).length === 0) await sleep(5);
  child.kill("SIGKILL");
  await exit;
  expect(child.signalCode).toBe("SIGKILL");
}
