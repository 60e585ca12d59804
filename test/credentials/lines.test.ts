import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { auditOf, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { signIn } from "../sessions/support.ts";

const day = 86_400_000;
let app: TestApp;
let second: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

interface Key {
  key_id: string;
  api_key: string;
  expires_at: string;
}

const keys = (): string => `/api/admin/organizations/${owner.org}/api-keys`;
const ask = (by: string, scopes: string[], days?: number, on = app) =>
  on.call("POST", keys(), {
    token: by,
    body: { name: "ci", scopes, ...(days === undefined ? {} : { expires_in_days: days }) },
  });
const make = async (by: string, scopes = ["admin"], days?: number) => (await ask(by, scopes, days)).body as Key;
const revoke = (keyId: string) => app.call("DELETE", `${keys()}/${keyId}`, { token: owner.token });
const opens = async (key: Key, on = app) => (await on.call("GET", "/api/users", { token: key.api_key })).status;
const revoked = async () =>
  (await auditOf(app, owner, "credential.revoked")).map(({ resource_id, metadata }) => [
    resource_id,
    metadata["made_with"],
  ]);

describe("a key made by a key", () => {
  test("a key created with a key expires no later than that key", async () => {
    const parent = await make(owner.token, ["admin"], 10);
    const child = await make(parent.api_key, ["admin"], 365);
    expect(child.expires_at).toBe(parent.expires_at);
    const shorter = await make(parent.api_key, ["read:users"], 5);
    expect(Date.parse(parent.expires_at) - Date.parse(shorter.expires_at)).toBe(5 * day);
    const grandchild = await make(child.api_key, ["read:users"]);
    expect(grandchild.expires_at).toBe(parent.expires_at);
    app.clock.advance(10 * day);
    expect([await opens(child), await opens(grandchild)]).toEqual([401, 401]);
    owner = { ...owner, token: (await signIn(app, owner)).token };
  });

  test("revoking a key revokes every generation created with it, on every instance, and records each", async () => {
    const [parent, other] = [await make(owner.token), await make(owner.token)];
    const child = await make(parent.api_key);
    const grandchild = await make(child.api_key);
    const cousin = await make(other.api_key);
    expect((await revoke(parent.key_id)).status).toBe(204);
    expect([await opens(child), await opens(grandchild, second), await opens(cousin)]).toEqual([401, 401, 200]);
    expect((await revoked()).slice(0, 3).toSorted()).toEqual(
      [
        [child.key_id, parent.key_id],
        [grandchild.key_id, parent.key_id],
        [parent.key_id, undefined],
      ].toSorted(),
    );
    expect(outcome(await revoke(child.key_id))).toBe("404 not_found");
  });

  test("a key that is being created with a key that is revoked meanwhile is revoked too", async () => {
    const parent = await make(owner.token);
    const child = await make(parent.api_key);
    const held = await holding(app.databaseUrl);
    await held.run("update api_keys set revoked_at = $2 where key_id = $1", [child.key_id, new Date(app.clock.now())]);
    const late = ask(child.api_key, ["admin"]);
    await held.waitedFor();
    await held.commit();
    expect(outcome(await late)).toBe("401 unauthorized");
    const [ended] = await Promise.all([
      revoke(parent.key_id),
      ask(parent.api_key, ["admin"]),
      ask(parent.api_key, ["admin"]),
    ]);
    expect(ended.status).toBe(204);
    const [row] = await runSql<{ n: number }>(
      app.databaseUrl,
      "select count(*)::int as n from api_keys where made_with = $1 and revoked_at is null",
      [parent.key_id],
    );
    expect(row?.n).toBe(0);
  });

  test("a key created with a key has at most its scopes and belongs to the creator of the first", async () => {
    const parent = await make(owner.token, ["write:credentials", "read:users"]);
    const child = await make(parent.api_key, ["write:credentials"]);
    expect(outcome(await ask(parent.api_key, ["read:roles"]))).toBe("403 forbidden");
    expect(outcome(await ask(child.api_key, ["read:users"]))).toBe("403 forbidden");
    expect(outcome(await ask(child.api_key, ["write:credentials"]))).toBe("201");
    const [row] = await runSql<{ made_by: string }>(app.databaseUrl, "select made_by from api_keys where key_id = $1", [
      child.key_id,
    ]);
    expect(row?.made_by).toBe(owner.userUuid);
  });
});

test("an organization has at most 1,000 live API keys under parallel requests", async () => {
  owner = await founder(app);
  const fill = `insert into api_keys (key_id, org_uuid, name, hash, prefix, last4, scopes, made_by, created_at, expires_at)
    select gen_random_uuid(), $1, 'old', '\\x00', 'x', 'x', '{admin}', $2, $3, $4 from generate_series(1, $5::int)`;
  const [now, later] = [new Date(app.clock.now()), new Date(app.clock.now() + day)];
  await runSql(app.databaseUrl, fill, [owner.org, owner.userUuid, now, later, 997]);
  await runSql(app.databaseUrl, fill, [owner.org, owner.userUuid, now, now, 50]);
  const made = await Promise.all(
    Array.from({ length: 10 }, (_, at) => ask(owner.token, ["admin"], undefined, at % 2 === 0 ? app : second)),
  );
  expect(made.map(outcome).toSorted()).toEqual([
    ...Array<string>(3).fill("201"),
    ...Array<string>(7).fill("409 conflict"),
  ]);
  expect((await revoke((made.find(({ status }) => status === 201)?.body as Key).key_id)).status).toBe(204);
  expect(outcome(await ask(owner.token, ["admin"]))).toBe("201");
  expect(outcome(await ask(owner.token, ["admin"]))).toBe("409 conflict");
});

test("an organization has at most 5 live SCIM tokens under parallel requests", async () => {
  const path = `/api/admin/organizations/${owner.org}/scim-tokens`;
  const made = await Promise.all(
    Array.from({ length: 9 }, (_, at) =>
      (at % 2 === 0 ? app : second).call("POST", path, { token: owner.token, body: {} }),
    ),
  );
  expect(made.map(outcome).toSorted()).toEqual([
    ...Array<string>(5).fill("201"),
    ...Array<string>(4).fill("409 conflict"),
  ]);
  const { token_id: id } = made.find(({ status }) => status === 201)?.body as { token_id: string };
  const stranger = await founder(app);
  const foreign = path.replace(owner.org, stranger.org);
  expect(outcome(await app.call("DELETE", `${foreign}/${id}`, { token: stranger.token }))).toBe("404 not_found");
  const make = async () => outcome(await app.call("POST", path, { token: owner.token, body: {} }));
  expect(await make()).toBe("409 conflict");
  // Neither an expired one nor a revoked one counts.
  await runSql(app.databaseUrl, "update scim_tokens set expires_at = $2 where token_id = $1", [
    id,
    new Date(app.clock.now()),
  ]);
  expect([await make(), await make()]).toEqual(["201", "409 conflict"]);
});
