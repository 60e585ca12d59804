import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openWith } from "../../src/platform/crypto/sealed.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { organizationKeyContext, sealValue } from "../../src/domains/vault/envelope.ts";
import { MASTER_KEY, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, elevated, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { secretsOf } from "./support.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const VERSIONS = 10_000;
const valueOf = (version: number): string => `value ${version}`;

/** Stores versions 2 to `count` of a secret, each sealed as a write seals it. */
async function fill(who: Somebody, name: string, count: number): Promise<void> {
  const [row] = await runSql<{ keyId: string; box: Buffer; secretId: string }>(
    app.databaseUrl,
    `select k.key_id as "keyId", k.box, s.secret_id as "secretId"
     from vault_keyrings k join vault_secrets s using (org_uuid) where org_uuid = $1 and s.name = $2`,
    [who.org, name],
  );
  if (row === undefined) throw new Error("there is no such secret");
  const key = openWith(MASTER_KEY, row.box, organizationKeyContext(who.org, row.keyId));
  const versions = Array.from({ length: count - 1 }, (_, at) => at + 2);
  const sealed = versions.map((version) =>
    sealValue({ keyId: row.keyId, key }, { orgUuid: who.org, name, version }, valueOf(version), systemRandom),
  );
  await runSql(
    app.databaseUrl,
    `insert into vault_versions (secret_id, version, key_id, wrapped_key, value, created_at)
     select $1, n.version, $2, n.wrapped_key, n.value, now()
     from unnest($3::int[], $4::bytea[], $5::bytea[]) as n (version, wrapped_key, value)`,
    [row.secretId, row.keyId, versions, sealed.map(({ wrappedKey }) => wrappedKey), sealed.map(({ value }) => value)],
  );
  await runSql(app.databaseUrl, "update vault_secrets set version = $2 where secret_id = $1", [row.secretId, count]);
}

const keysOf = (who: Somebody) =>
  runSql<{ keyId: string; isPresent: boolean }>(
    app.databaseUrl,
    `select distinct v.key_id as "keyId", v.key_id = k.key_id as "isPresent"
     from vault_versions v join vault_secrets s using (secret_id) join vault_keyrings k using (org_uuid)
     where org_uuid = $1`,
    [who.org],
  );

describe("rotation of an organization's key", () => {
  test("10,000 versions are rewrapped under load without a failed read or write", async () => {
    const who = await founder(app);
    const secrets = secretsOf(app, who);
    await secrets.put("many", valueOf(1));
    await fill(who, "many", VERSIONS);
    await secrets.put("deleted", "d");
    await secrets.remove("deleted");
    let isOver = false;
    const outcomes = new Map<string, number>();
    const load = async (work: (at: number) => Promise<string>): Promise<void> => {
      for (let at = 0; !isOver; at++) {
        const seen = await work(at);
        outcomes.set(seen, (outcomes.get(seen) ?? 0) + 1);
      }
    };
    const readers = [secrets, secretsOf(second, who), secretsOf(second, who), secrets].map((reader, n) =>
      load(async (at) => {
        const version = ((at * 7_919 + n * 997) % VERSIONS) + 1;
        const { status, body } = await reader.get("many", version);
        return status === 200 && body.value === valueOf(version) ? "read" : `read ${status}`;
      }),
    );
    const writer = load(async (at) => {
      const { status, body } = await secretsOf(second, who).put(`written-${at}`, `written ${at}`);
      return status === 200 && body.version === 1 ? "written" : `write ${status}`;
    });
    const rotated = await secrets.rotate();
    isOver = true;
    await Promise.all([...readers, writer]);
    expect(rotated).toMatchObject({
      status: 200,
      body: { key_id: expect.any(String), previous_key_id: expect.any(String), rotated_at: expect.any(String) },
    });
    expect([...outcomes.keys()].sort()).toEqual(["read", "written"]);
    expect(outcomes.get("read")).toBeGreaterThan(20);
    expect(await keysOf(who)).toEqual([{ keyId: rotated.body.key_id, isPresent: true }]);
    for (const version of [1, 2, 5_000, VERSIONS])
      expect((await secrets.get("many", version)).body.value).toBe(valueOf(version));
    for (let at = 0; at < (outcomes.get("written") ?? 0); at++)
      expect((await secrets.get(`written-${at}`)).body.value).toBe(`written ${at}`);
    await secrets.restore("deleted");
    expect((await secrets.get("deleted")).body.value).toBe("d");
  });

  test("concurrent rotations wait for each other, each with the key of the one before", async () => {
    const who = await founder(app);
    await secretsOf(app, who).put("one", "value");
    const token = await elevated(app, who.token);
    const path = `/api/admin/organizations/${who.org}/kms-keys/rotate`;
    const answers = await Promise.all([app, second, app, second].map((one) => one.call("POST", path, { token })));
    expect(answers.map(outcome)).toEqual(["200", "200", "200", "200"]);
    const keys = new Set(answers.map(({ body }) => body.key_id));
    const previous = answers.map(({ body }) => body.previous_key_id as string);
    expect([keys.size, new Set(previous).size]).toEqual([4, 4]);
    expect(previous.filter((keyId) => !keys.has(keyId))).toHaveLength(1);
    expect((await secretsOf(second, who).get("one")).body.value).toBe("value");
    const events = (await auditOf(app, who, "key.rotated")).filter(({ metadata }) => metadata["kind"] === "kms_key");
    expect(events).toHaveLength(4);
  });

  test("an organization without secrets gets its first key, with previous_key_id null", async () => {
    const who = await founder(app);
    expect((await secretsOf(app, who).rotate()).body).toMatchObject({ previous_key_id: null });
    expect((await secretsOf(app, who).rotate()).body).toMatchObject({ previous_key_id: expect.any(String) });
  });

  test("a rotation needs an elevated token", async () => {
    const who = await founder(app);
    const path = `/api/admin/organizations/${who.org}/kms-keys/rotate`;
    expect(outcome(await app.call("POST", path, { token: who.token }))).toBe("403 step_up_required");
  });
});
