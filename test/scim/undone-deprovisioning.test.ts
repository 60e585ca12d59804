import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let owner: Somebody;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  directory = await directoryOf(app, owner);
  await sql(`create function refused_event() returns trigger language plpgsql as $$
    begin raise exception 'refused'; end $$`);
});
afterAll(() => app.close());

const sql = (text: string, values: unknown[] = []) => runSql(app.databaseUrl, text, values);

/** A member with a session and an API key of the organization. */
async function keyHolder(): Promise<Somebody & { apiKey: string }> {
  const who = await member(app, owner, 1);
  const key = await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
    token: who.token,
    body: { name: "k", scopes: ["read:users"] },
  });
  expect(key.status, key.text).toBe(201);
  return { ...who, apiKey: key.body.api_key as string };
}

/** What a member's credentials are answered, and how the directory and the organization see them. */
async function standing(who: Somebody & { apiKey: string }): Promise<unknown[]> {
  const me = await app.call("GET", "/api/auth/me", { token: who.token });
  const users = await app.call("GET", "/api/users", { token: who.apiKey });
  const refreshed = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: who.refreshToken } });
  const user = await directory.call("GET", `/Users/${who.userUuid}`);
  const { body } = await app.call("GET", `/api/users?email=${who.email}`, { token: owner.token });
  return [
    me.status,
    users.status,
    refreshed.status,
    user.status,
    user.body.active,
    user.body.meta,
    body.data[0]?.status,
  ];
}

/** Types of the events that a deprovisioning records. */
async function recorded(end: (id: string) => Promise<Answer>): Promise<string[]> {
  const who = await keyHolder();
  const seen = async () => (await sql("select type from audit_events where org_uuid = $1", [owner.org])).length;
  const before = await seen();
  expect(refusal(await end(who.userUuid))).toMatch(/^20[04]$/u);
  const rows = await sql("select type from audit_events where org_uuid = $1 order by sequence offset $2", [
    owner.org,
    before,
  ]);
  return rows.map(({ type }) => String(type)).sort();
}

test.each<[string, (id: string) => Promise<Answer>, string[]]>([
  [
    "active false",
    (id) => directory.patch(`/Users/${id}`, { op: "replace", path: "active", value: false }),
    ["credential.revoked", "scim.user.updated", "session.bulk_revoked", "user.updated"],
  ],
  [
    "DELETE",
    (id) => directory.call("DELETE", `/Users/${id}`),
    ["credential.revoked", "scim.user.deleted", "session.bulk_revoked", "user.removed"],
  ],
])("deprovisioning by %s leaves all as it was when one of its events cannot be recorded", async (_how, end, types) => {
  expect(await recorded(end)).toEqual(types);
  for (const type of types) {
    const who = await keyHolder();
    const before = await standing(who);
    expect(before.slice(0, 4)).toEqual([200, 200, 200, 200]);
    await sql(`create trigger refused before insert on audit_events for each row
      when (new.type = '${type}') execute function refused_event()`);
    try {
      expect((await end(who.userUuid)).status, type).toBe(500);
      // The answer of a refresh within ten seconds is the same again.
      expect(await standing(who), type).toEqual(before);
    } finally {
      await sql("drop trigger refused on audit_events");
    }
    expect(refusal(await end(who.userUuid)), type).toMatch(/^20[04]$/u);
    expect((await standing(who)).slice(0, 3), type).toEqual([401, 401, 401]);
  }
});
