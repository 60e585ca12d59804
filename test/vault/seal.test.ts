import { combine, split } from "shamir-secret-sharing";
import { afterEach, describe, expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { MASTER_KEY, startApp } from "../support/app.ts";
import type { AppOptions, TestApp } from "../support/app.ts";
import { auditOf, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { sealOf, secretsOf } from "./support.ts";

const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0).reverse()) await app.close();
});

/** Starts a service; the first one of a test owns the database of the others. */
async function start(options: AppOptions = {}): Promise<TestApp> {
  const [first] = apps;
  const app = await startApp({
    env: { SERVICE_OPEN_SIGNUP: "1" },
    ...(first === undefined ? {} : { databaseUrl: first.databaseUrl, clock: first.clock }),
    ...options,
  });
  apps.push(app);
  return app;
}

const key = MASTER_KEY.toString("base64");
const wrongKey = Buffer.alloc(32, 1).toString("base64");
const sealed = "423 vault_sealed";
const open = { sealed: false, threshold: 3, shares: 5, progress: 0 };
const closed = (progress: number) => ({ sealed: true, threshold: 3, shares: 5, progress });

async function sharesOf(secret: Buffer): Promise<string[]> {
  return (await split(new Uint8Array(secret), 5, 3)).map((share) => Buffer.from(share).toString("base64"));
}

/** What every route of secrets returns. */
async function routes(app: TestApp, who: Somebody): Promise<string[]> {
  const secrets = secretsOf(app, who);
  const answers = [
    await secrets.get("kept"),
    await secrets.get("kept", 1),
    await secrets.get("none"),
    await secrets.put("kept", "x"),
    await secrets.put("kept", { value: "x", expected_version: 99 }),
    await secrets.list(),
    await secrets.versions("kept"),
    await secrets.remove("none"),
    await secrets.restore("kept"),
    await secrets.rotate(),
  ];
  return answers.map(outcome);
}

/** Outcomes of the operator's events, the latest first. */
async function outcomesOf(app: TestApp, type: string): Promise<string[]> {
  const token = await app.login();
  const { org_uuid: org } = (await app.call("GET", "/api/auth/me", { token })).body;
  return (await auditOf(app, { token, org }, type)).map((event) => event.outcome);
}

describe("the seal", () => {
  test("a sealed vault returns 423 on every route of secrets, on every instance, from the next request", async () => {
    const [app, second] = [await start(), await start()];
    const who = await founder(app);
    await secretsOf(app, who).put("kept", "value");
    expect((await secretsOf(second, who).get("kept")).status).toBe(200);
    const seal = await sealOf(app);
    expect((await seal.seal()).status).toBe(204);
    for (const instance of [second, app]) expect(new Set(await routes(instance, who))).toEqual(new Set([sealed]));
    expect((await seal.status()).body).toEqual(closed(0));
    expect((await second.call("GET", "/readyz")).body).toMatchObject({ status: "ok", vault: "sealed" });
    expect((await seal.seal()).status).toBe(204);
    expect(await outcomesOf(app, "vault.sealed")).toEqual(["success"]);
    expect((await (await sealOf(second)).unseal({ key })).body).toEqual(open);
    for (const instance of [app, second]) expect((await secretsOf(instance, who).get("kept")).body.value).toBe("value");
    app.clock.advance(2_000);
    expect((await second.call("GET", "/readyz")).body.vault).toBe("ok");
  });

  test("the seal outlives a restart with the master key in the settings", async () => {
    const app = await start();
    await (await sealOf(app)).seal();
    const restarted = await start();
    const seal = await sealOf(restarted);
    expect((await seal.status()).body.sealed).toBe(true);
    expect((await seal.unseal({ key })).body).toEqual(open);
    expect((await seal.unseal({ key: wrongKey })).body).toEqual(open);
  });

  test("authorization and the form of the request come before the seal", async () => {
    const app = await start();
    const [who, other] = [await founder(app), await founder(app)];
    await (await sealOf(app)).seal();
    const foreign = { ...who, token: other.token };
    expect(outcome(await secretsOf(app, foreign).get("kept"))).toBe("404 not_found");
    expect(outcome(await secretsOf(app, { ...who, token: "x" }).get("kept"))).toBe("401 unauthorized");
    expect(outcome(await secretsOf(app, who).get("a%2Fb"))).toBe("400 validation_error");
    for (const route of ["seal", "unseal"])
      expect(outcome(await app.call("POST", `/api/operator/vault/${route}`, { token: who.token, body: { key } }))).toBe(
        "403 forbidden",
      );
    expect(outcome(await app.call("GET", "/api/operator/vault/status", { token: who.token }))).toBe("403 forbidden");
  });

  test("a vault that never had a key is sealed, and the first entered key becomes its master key", async () => {
    const app = await start({ sealedVault: true });
    const who = await founder(app);
    expect(outcome(await secretsOf(app, who).put("kept", "x"))).toBe(sealed);
    const seal = await sealOf(app);
    expect((await seal.status()).body).toEqual(closed(0));
    expect((await seal.unseal({ key })).body).toEqual(open);
    await secretsOf(app, who).put("kept", "value");
    const wrapped = "select shared_key is not null as present from vault_seal";
    expect(await runSql(app.databaseUrl, wrapped)).toEqual([{ present: true }]);
    await seal.seal();
    expect(await runSql(app.databaseUrl, wrapped)).toEqual([{ present: false }]);
    expect(outcome(await seal.unseal({ key: wrongKey }))).toBe("400 unseal_failed");
    const [configured, bare] = [await start(), await start({ sealedVault: true })];
    expect((await seal.unseal({ key })).body).toEqual(open);
    for (const instance of [configured, bare])
      expect((await secretsOf(instance, who).get("kept")).body.value).toBe("value");
  });

  test("a wrong master key at start leaves that instance sealed, and readiness says so", async () => {
    const app = await start();
    const who = await founder(app);
    await secretsOf(app, who).put("kept", "value");
    const wrong = await start({ masterKey: Buffer.alloc(32, 1) });
    expect((await wrong.call("GET", "/readyz")).body).toMatchObject({
      status: "ok",
      vault: "sealed: SERVICE_MASTER_KEY is not its key",
    });
    expect(outcome(await secretsOf(wrong, who).get("kept"))).toBe(sealed);
    expect(outcome(await secretsOf(wrong, who).put("kept", "x"))).toBe(sealed);
    expect((await secretsOf(app, who).get("kept")).body.value).toBe("value");
    const seal = await sealOf(wrong);
    const [share] = await sharesOf(MASTER_KEY);
    expect((await seal.unseal({ share })).body).toEqual(closed(1));
    await (await sealOf(app)).seal();
    expect((await seal.status()).body).toEqual(closed(0));
    expect(outcome(await seal.unseal({ key: wrongKey }))).toBe("400 unseal_failed");
    expect((await seal.unseal({ key })).body).toEqual(open);
    expect((await secretsOf(wrong, who).get("kept")).body.value).toBe("value");
  });

  test("the log says whether a wrong master key at start leaves the vault sealed", async () => {
    const lines: string[] = [];
    const write = (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg);
    const log = createLog({ level: "error", destination: { write } });
    const app = await start();
    const restart = () => start({ masterKey: Buffer.alloc(32, 1), log });
    await restart();
    const seal = await sealOf(app);
    await seal.seal();
    await seal.unseal({ key });
    const restarted = await sealOf(await restart());
    expect((await restarted.status()).body).toEqual(open);
    const wrong = "SERVICE_MASTER_KEY is not the key of this vault";
    expect(lines).toEqual([
      `${wrong}; the vault starts sealed`,
      `${wrong}; the vault is open by the key that operators entered`,
    ]);
  });

  test("a former master key opens what it sealed, beside the present one", async () => {
    const app = await start();
    const who = await founder(app);
    await secretsOf(app, who).put("old", "by the former key");
    const fresh = Buffer.alloc(32, 2);
    const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_MASTER_KEY_PREVIOUS: key };
    const changed = await start({ masterKey: fresh, env });
    expect((await secretsOf(changed, who).get("old")).body.value).toBe("by the former key");
    const newcomer = await founder(changed);
    await secretsOf(changed, newcomer).put("new", "by the present key");
    expect((await secretsOf(changed, newcomer).get("new")).body.value).toBe("by the present key");
    // The former key alone does not open what the present one sealed.
    expect((await secretsOf(app, newcomer).get("new")).status).toBe(500);
  });
});

describe("shares", () => {
  test("three of five shares unseal, entered on different instances, and a repeated one counts once", async () => {
    const [app, second] = [await start({ sealedVault: true }), await start({ sealedVault: true })];
    const [one, other] = [await sealOf(app), await sealOf(second)];
    await one.unseal({ key });
    const who = await founder(app);
    await secretsOf(app, who).put("kept", "value");
    await one.seal();
    const shares = await sharesOf(MASTER_KEY);
    expect((await one.unseal({ share: shares[4] })).body).toEqual(closed(1));
    expect((await other.unseal({ share: shares[4] })).body).toEqual(closed(1));
    expect((await other.unseal({ share: shares[0] })).body).toEqual(closed(2));
    expect((await one.status()).body).toEqual(closed(2));
    expect((await one.unseal({ share: shares[2] })).body).toEqual(open);
    for (const instance of [second, app]) expect((await secretsOf(instance, who).get("kept")).body.value).toBe("value");
    const [entered] = await runSql<{ count: number }>(app.databaseUrl, "select count(*)::int from vault_unseal_shares");
    expect(entered?.count).toBe(0);
  });

  test("a wrong set returns 400 unseal_failed, starts over at 0 and changes nothing else", async () => {
    const app = await start();
    const seal = await sealOf(app);
    await seal.seal();
    const [right, wrong] = [await sharesOf(MASTER_KEY), await sharesOf(Buffer.alloc(32, 1))];
    await seal.unseal({ share: right[0] });
    await seal.unseal({ share: right[1] });
    const third = Buffer.from(wrong[2] ?? "", "base64");
    const used = right.slice(0, 2).map((share) => Buffer.from(share, "base64").at(-1));
    while (used.includes(third.at(-1))) third[32] = ((third[32] ?? 0) % 255) + 1;
    expect(outcome(await seal.unseal({ share: third.toString("base64") }))).toBe("400 unseal_failed");
    expect((await seal.status()).body).toEqual(closed(0));
    await seal.unseal({ share: right[0] });
    // The same coordinate with another value.
    const changed = Buffer.from(right[0] ?? "", "base64");
    changed[3] = (changed[3] ?? 0) ^ 1;
    expect(outcome(await seal.unseal({ share: changed.toString("base64") }))).toBe("400 unseal_failed");
    await seal.unseal({ share: right[0] });
    expect(outcome(await seal.unseal({ key: wrongKey }))).toBe("400 unseal_failed");
    expect((await seal.status()).body).toEqual(closed(0));
    for (const share of right.slice(2)) await seal.unseal({ share });
    expect((await seal.status()).body).toEqual(open);
    expect(await outcomesOf(app, "vault.unsealed")).toEqual(["success", "failure", "failure", "failure"]);
  });

  test("what the instance key does not open counts as not entered, and the vault can be unsealed", async () => {
    const app = await start({ sealedVault: true });
    const who = await founder(app);
    const seal = await sealOf(app);
    await seal.unseal({ key });
    await secretsOf(app, who).put("kept", "value");
    await seal.seal();
    const shares = await sharesOf(MASTER_KEY);
    await seal.unseal({ share: shares[0] });
    await runSql(app.databaseUrl, "update vault_unseal_shares set box = $1", [Buffer.alloc(62, 1)]);
    expect(outcome(await seal.unseal({ share: shares[1] }))).toBe("400 unseal_failed");
    for (const share of shares.slice(0, 3)) await seal.unseal({ share });
    expect((await seal.status()).body).toEqual(open);
    await runSql(app.databaseUrl, "update vault_seal set epoch = epoch + 1");
    expect(outcome(await secretsOf(app, who).get("kept"))).toBe(sealed);
    expect((await seal.unseal({ key })).body).toEqual(open);
    expect((await secretsOf(app, who).get("kept")).body.value).toBe("value");
  });

  test("malformed keys and shares return 400 validation_error", async () => {
    const app = await start();
    const seal = await sealOf(app);
    await seal.seal();
    const [share = ""] = await sharesOf(MASTER_KEY);
    const zero = Buffer.concat([Buffer.alloc(32, 5), Buffer.of(0)]).toString("base64");
    for (const body of [
      {},
      { key, share },
      { key: "" },
      { key: key.slice(1) },
      { key: share },
      { share: key },
      { share: zero },
      { share: `${share}AAAA` },
      { share: "-".repeat(44) },
      { key: 1 },
      { key: null },
    ])
      expect([body, outcome(await seal.unseal(body))]).toEqual([body, "400 validation_error"]);
    expect((await seal.status()).body).toEqual(closed(0));
  });

  test("a share is 32 bytes of a polynomial over GF(2^8) modulo 0x11b, then its coordinate", async () => {
    const times = (a: number, b: number): number => {
      let product = 0;
      for (let bit = 0; bit < 8; bit++) {
        if (((b >> bit) & 1) === 1) product ^= a << bit;
      }
      for (let bit = 14; bit >= 8; bit--) if (((product >> bit) & 1) === 1) product ^= 0x11b << (bit - 8);
      return product;
    };
    const coefficients = [0x57, 0x83, 0xc1];
    const made = [1, 2, 77].map((x) => {
      const y = (coefficients[0] ?? 0) ^ times(coefficients[1] ?? 0, x) ^ times(coefficients[2] ?? 0, times(x, x));
      return new Uint8Array([...Array<number>(32).fill(y), x]);
    });
    expect([...(await combine(made))]).toEqual(Array<number>(32).fill(0x57));
    expect((await split(new Uint8Array(MASTER_KEY), 5, 3)).map(({ length }) => length)).toEqual(Array(5).fill(33));
  });
});
