import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCommand } from "../cli/run-command.ts";
import { INSTANCE_KEY, MASTER_KEY, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { sealOf, secretsOf } from "../vault/support.ts";

const masterKey = randomBytes(32);
let app: TestApp;
let owner: Somebody;
let operator: Awaited<ReturnType<typeof sealOf>>;
beforeAll(async () => {
  app = await startApp({ sealedVault: true });
  owner = await founder(app);
  operator = await sealOf(app);
  await enter(MASTER_KEY);
  expect((await secretsOf(app, owner).put("database", "s3cret")).status).toBe(200);
});
afterAll(() => app.close());

const enter = async (key: Buffer): Promise<void> => {
  expect((await operator.unseal({ key: key.toString("base64") })).status).toBe(200);
};
const rewrap = () =>
  runCommand(["rewrap"], {
    DATABASE_URL: app.databaseUrl,
    SERVICE_INSTANCE_KEY: INSTANCE_KEY.toString("base64"),
    SERVICE_MASTER_KEY: masterKey.toString("base64"),
    SERVICE_MASTER_KEY_PREVIOUS: MASTER_KEY.toString("base64"),
  });
const secret = () => secretsOf(app, owner).get("database");

it("rewrap moves nothing while instances use a master key that operators entered before", async () => {
  const refused = await rewrap();
  expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/vault seal, run rewrap again/u) });
  expect(refused.out).not.toContain("moved");
  expect((await secret()).body).toMatchObject({ value: "s3cret" });
});

it("rewrap moves nothing while the instance key does not open what operators entered", async () => {
  const [row] = await runSql<{ box: Buffer }>(app.databaseUrl, "select shared_key as box from vault_seal");
  const put = (box: Buffer | undefined) => runSql(app.databaseUrl, "update vault_seal set shared_key = $1", [box]);
  await put(Buffer.alloc(61, 1));
  const refused = await rewrap();
  await put(row?.box);
  expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/vault seal, run rewrap again/u) });
  expect(refused.out).not.toContain("moved");
});

it("rewrap moves a sealed vault, which the new key opens and the previous one does not", async () => {
  expect((await operator.seal()).status).toBeLessThan(300);
  const { code, out } = await rewrap();
  expect(out).toMatch(/^Done: everything is sealed with the present keys/mu);
  expect(code).toBe(0);
  expect(outcome(await operator.unseal({ key: MASTER_KEY.toString("base64") }))).toBe("400 unseal_failed");
  await enter(masterKey);
  expect((await secret()).body).toMatchObject({ value: "s3cret" });
  expect(await rewrap()).toMatchObject({ code: 0, err: "" });
});
