import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import type { Log } from "../../src/platform/log.ts";
import { auditOf, elevated, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { secretsOf } from "./support.ts";

let app: TestApp;
let ann: Somebody;
let bob: Somebody;
const lines: string[] = [];
beforeAll(async () => {
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) }) as unknown as Log;
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(() => app.close());

/** Secrets of two organizations: `one` with two versions and `two` of Ann, `one` of Bob. */
beforeEach(async () => {
  [ann, bob] = [await founder(app), await founder(app)];
  await secretsOf(app, ann).put("one", "ann-one-first");
  await secretsOf(app, ann).put("one", "ann-one-second");
  await secretsOf(app, ann).put("two", "ann-two-first");
  await secretsOf(app, bob).put("one", "bob-one-first");
});

const sql = (text: string, ...params: unknown[]) => runSql(app.databaseUrl, text, params);
const idOf = `(select secret_id from vault_secrets where org_uuid = $1::uuid and name = $2)`;
const otherId = `(select secret_id from vault_secrets where org_uuid = $3::uuid and name = $4)`;

/** Replaces a version's columns by those of another version. */
function copy(columns: readonly string[], to: [string, string, number], from: [string, string, number]) {
  const set = columns.map((column) => `${column} = o.${column}`).join(", ");
  return sql(
    `update vault_versions v set ${set} from vault_versions o
     where v.secret_id = ${idOf} and v.version = $5 and o.secret_id = ${otherId} and o.version = $6`,
    to[0],
    to[1],
    from[0],
    from[1],
    to[2],
    from[2],
  );
}

async function expectRefused(who: Somebody, name: string, version?: number): Promise<void> {
  lines.length = 0;
  const answer = await secretsOf(app, who).get(name, version);
  expect(outcome(answer)).toBe("500 internal");
  expect(answer.text + lines.join("")).not.toMatch(/(?:ann|bob)-(?:one|two)-/u);
  const [event] = await auditOf(app, who, "vault.secret.read");
  expect(event).toMatchObject({ outcome: "failure", resource_id: name, metadata: { name, code: "internal" } });
}

const whole = ["key_id", "wrapped_key", "value"];

describe("rows in the place of other rows", () => {
  test("a version in the place of another version of the same secret is refused", async () => {
    await copy(whole, [ann.org, "one", 2], [ann.org, "one", 1]);
    await expectRefused(ann, "one");
    await expectRefused(ann, "one", 2);
    expect((await secretsOf(app, ann).get("one", 1)).body.value).toBe("ann-one-first");
  });

  test("a version in the place of another secret's is refused", async () => {
    await copy(whole, [ann.org, "one", 1], [ann.org, "two", 1]);
    await expectRefused(ann, "one", 1);
  });

  test("a version in the place of another organization's is refused, with its key too", async () => {
    await copy(whole, [bob.org, "one", 1], [ann.org, "one", 1]);
    await expectRefused(bob, "one");
    await sql(
      `update vault_keyrings k set key_id = o.key_id, box = o.box from vault_keyrings o
       where k.org_uuid = $1 and o.org_uuid = $2`,
      bob.org,
      ann.org,
    );
    await expectRefused(bob, "one");
  });

  test("a value or a wrapped key alone in the place of another is refused", async () => {
    await copy(["value"], [ann.org, "one", 2], [ann.org, "one", 1]);
    await expectRefused(ann, "one");
    await copy(["wrapped_key"], [ann.org, "two", 1], [ann.org, "one", 1]);
    await expectRefused(ann, "two");
  });

  test("a renamed secret, a secret moved to another organization and a renumbered version are refused", async () => {
    await sql("update vault_secrets set name = 'renamed' where org_uuid = $1 and name = 'two'", ann.org);
    await expectRefused(ann, "renamed");
    await sql(
      "update vault_secrets set org_uuid = $2, name = 'moved' where org_uuid = $1 and name = 'renamed'",
      ann.org,
      bob.org,
    );
    await expectRefused(bob, "moved");
    await sql(`update vault_versions set version = 7 where secret_id = ${idOf}`, bob.org, "one");
    await sql("update vault_secrets set version = 7 where org_uuid = $1 and name = 'one'", bob.org);
    await expectRefused(bob, "one");
  });

  test("every changed byte of a version is refused", async () => {
    for (const column of ["value", "wrapped_key"])
      for (const at of [0, 1, 13, 20]) {
        const flip = `set_byte(${column}, ${at}, get_byte(${column}, ${at}) # 1)`;
        await sql(`update vault_versions set ${column} = ${flip} where secret_id = ${idOf}`, ann.org, "two");
        await expectRefused(ann, "two");
        await sql(`update vault_versions set ${column} = ${flip} where secret_id = ${idOf}`, ann.org, "two");
      }
    expect((await secretsOf(app, ann).get("two")).body.value).toBe("ann-two-first");
  });

  test("a truncated or empty box is refused", async () => {
    for (const box of ["''", "'\\x01'", "substr(value, 1, 28)", "substr(value, 1, 35)"]) {
      await sql(`update vault_versions set value = ${box} where secret_id = ${idOf}`, ann.org, "two");
      await expectRefused(ann, "two");
    }
  });

  test("a damaged version does not keep the organization from rotating its key, and stays unreadable", async () => {
    await copy(whole, [ann.org, "one", 2], [ann.org, "two", 1]);
    expect((await secretsOf(app, ann).rotate()).status).toBe(200);
    await expectRefused(ann, "one");
    expect((await secretsOf(app, ann).get("one", 1)).body.value).toBe("ann-one-first");
    expect((await secretsOf(app, ann).get("two")).body.value).toBe("ann-two-first");
  });
});

describe("what is written down", () => {
  test("values are in no table, no log line and no error, also when a write is refused", async () => {
    lines.length = 0;
    const value = "a-value-that-appears-nowhere";
    const secrets = secretsOf(app, ann);
    await secrets.put("quiet", { value, description: "said" });
    await secrets.get("quiet");
    for (const body of [
      { value, tags: [1] },
      { value, expected_version: 9 },
      { value: [value] },
      { value: { value } },
      { value, description: value.repeat(100) },
      `{"value":"${value}",}`,
    ]) {
      const path = `/api/admin/organizations/${ann.org}/secrets/quiet`;
      const answer = await app.call("PUT", path, { token: ann.token, body });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(answer.text).not.toContain(value);
    }
    await secrets.remove("quiet");
    const path = `/api/admin/organizations/${ann.org}/secrets/quiet/restore`;
    await app.call("POST", path, { token: ann.token, headers: { "idempotency-key": "restore-1" } });
    await app.call("POST", `/api/admin/organizations/${ann.org}/kms-keys/rotate`, {
      token: await elevated(app, ann.token),
      headers: { "idempotency-key": "rotate-1" },
    });
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.join("\n")).not.toContain(value);
    const tables = await runSql<{ name: string }>(
      app.databaseUrl,
      "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
    );
    for (const { name } of tables) {
      const hex = Buffer.from(value).toString("hex");
      const found = await sql(
        `select 1 from ${name} t where t::text like $1 or t::text like $2`,
        `%${value}%`,
        `%${hex}%`,
      );
      expect(found, name).toEqual([]);
    }
  });
});
