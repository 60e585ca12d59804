import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, mailsTo, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let owner: Somebody;
let other: Somebody;
let directory: Directory;
let id: string;
let made = 0;
beforeAll(async () => {
  app = await startApp();
  [owner, other] = [await founder(app), await founder(app)];
  directory = await directoryOf(app, owner);
});
afterAll(() => app.close());
beforeEach(async () => {
  ({ id } = await directory.user({ userName: `own${++made}@scim.test` }));
});

/** Whether a person has the address that a directory gives its user. */
async function moves(by: Directory): Promise<boolean> {
  const email = `moved${++made}@scim.test`;
  const value = { userName: email, emails: [{ value: email, primary: true }] };
  expect(refusal(await by.patch(`/Users/${id}`, { op: "replace", value }))).toBe("200");
  const rows = await runSql(app.databaseUrl, "select 1 as one from people where uuid = $1 and email = $2", [id, email]);
  return rows.length === 1;
}

/** Makes the person a member of another organization, past the service. */
async function join({ org }: Somebody): Promise<void> {
  const sql = `insert into memberships (org_uuid, user_uuid, role_id, email_key, created_at, updated_at)
    select $1, uuid, 3, email_key, now(), now() from people where uuid = $2`;
  await runSql(app.databaseUrl, sql, [org, id]);
}

test.each([
  ["a password", "password_hash", "'hash'"],
  ["a confirmed address", "email_confirmed_at", "now()"],
  ["a mailbox that they have proven", "mailbox_proven_at", "now()"],
])("a directory gives no other address to a person who has %s", async (_what, column, value) => {
  expect(await moves(directory)).toBe(true);
  await runSql(app.databaseUrl, `update people set ${column} = ${value} where uuid = $1`, [id]);
  expect(await moves(directory)).toBe(false);
  await runSql(app.databaseUrl, `update people set ${column} = null where uuid = $1`, [id]);
  expect(await moves(directory)).toBe(true);
});

test("a directory gives no other address to a person whom the directory of another organization has made", async () => {
  await join(other);
  expect(refusal(await directory.call("DELETE", `/Users/${id}`))).toBe("204");
  expect(await moves(await directoryOf(app, other))).toBe(false);
});

test("a membership that has ended elsewhere leaves the person to the directory that has made them", async () => {
  await join(other);
  expect(await moves(directory)).toBe(false);
  const ended = await app.call("DELETE", `/api/users/${id}`, { token: other.token });
  expect(ended.status, ended.text).toBe(204);
  expect(await moves(directory)).toBe(true);
});

test("a person who is invited keeps their address, although the directory has made them before", async () => {
  await join(other);
  expect(refusal(await directory.call("DELETE", `/Users/${id}`))).toBe("204");
  const invited = await directory.user({ userName: `own${made}@scim.test` });
  expect([invited.id, invited.active]).toEqual([id, false]);
  // Who is invited counts among the users.
  const listed = await directory.call("GET", "/Users?count=200");
  expect(listed.body.totalResults).toBe((listed.body.Resources as unknown[]).length);
  const ended = await app.call("DELETE", `/api/users/${id}`, { token: other.token });
  expect(ended.status, ended.text).toBe(204);
  expect(await moves(directory)).toBe(false);
});

test("a known person whom a directory creates inactive is invited only once they are to be active", async () => {
  const { email } = await member(app, other);
  const before = (await mailsTo(app, email)).length;
  const user = await directory.user({ userName: email, active: false });
  expect(await mailsTo(app, email)).toHaveLength(before);
  const change = { op: "replace", path: "active", value: true };
  expect(refusal(await directory.patch(`/Users/${user.id}`, change))).toBe("200");
  expect(await mailsTo(app, email)).toHaveLength(before + 1);
});
