import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { signIn } from "../matrix/world.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { overtake, pausingLink } from "../support/pausing-link.ts";
import type { PausingLink } from "../support/pausing-link.ts";
import { elevated, founder, member, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

// Requests that end sessions hold the caller's own one, and wait for others.
const { log, deadlocks } = watchDeadlocks();
let database: TestDatabase;
let link: PausingLink;
let app: TestApp;
beforeAll(async () => {
  database = await testDatabase();
  link = await pausingLink(database.url);
  app = await startApp({ databaseUrl: link.url, env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(async () => {
  await app.close();
  await link.close();
  await database.close();
});
beforeEach(() => expect(deadlocks).toEqual([]));

interface Admin extends Somebody {
  sid: string;
}

const device = randomUUID();

/** Signs a person in on the device that all share; their token is elevated. */
async function onDevice(who: Somebody): Promise<Admin> {
  const { token, sid } = await signIn(app, who, device);
  return { ...who, token: await elevated(app, token), sid };
}

type End = (by: Admin, of: Admin) => Promise<Answer>;
const ends: Record<string, End> = {
  "all sessions": ({ token, org }) =>
    app.call("POST", `/api/organizations/${org}/revoke-all-sessions`, { token, body: { exclude_current: true } }),
  "the sessions on a device": ({ token }) =>
    app.call("POST", `/api/devices/${device}/revoke-all`, { token, body: { exclude_current: true } }),
  "each other's session": ({ token, org }, { sid }) =>
    app.call("DELETE", `/api/organizations/${org}/session-inventory/${sid}`, { token }),
  "each other's session on a device": ({ token }, { sid }) =>
    app.call("DELETE", `/api/devices/${device}/session-inventory/${sid}`, { token }),
};

it.each(Object.keys(ends))("two admins end %s at the same time, without a deadlock", async (what) => {
  const owner = await founder(app);
  const one = await onDevice(owner);
  const other = await onDevice(await member(app, owner, 1));
  const end = ends[what] as End;

  const answers = await overtake(
    link,
    database.url,
    "update sessions set revoked_at",
    () => end(one, other),
    () => end(other, one),
  );

  expect(answers.map(outcome)).toEqual([expect.stringMatching(/^20[04]$/), "401 unauthorized"]);
  expect(deadlocks).toEqual([]);
});

it("an admin ends all sessions while another removes them, without a deadlock", async () => {
  const owner = await onDevice(await founder(app));
  const admin = await onDevice(await member(app, owner, 1));

  const answers = await overtake(
    link,
    database.url,
    "update sessions set revoked_at",
    () => (ends["all sessions"] as End)(admin, owner),
    () => app.call("DELETE", `/api/users/${admin.userUuid}`, { token: owner.token }),
  );

  expect(answers.map(outcome)).toEqual(["200", "401 unauthorized"]);
  expect(deadlocks).toEqual([]);
});

it("a person changes their password in a derived session while they sign out of it, without a deadlock", async () => {
  const { email, orgName, token: first } = await founder(app);
  const { body: further } = await app.call("POST", "/api/organizations", { token: first, body: { name: "Further" } });
  const { token: source } = await signIn(app, { email, orgName });
  const { body } = await app.call("POST", "/api/auth/switch", { token: source, body: { org_uuid: further.org_uuid } });
  const token = body.access_token as string;

  const answers = await overtake(
    link,
    database.url,
    "select judge_session",
    () =>
      app.call("PUT", "/api/profile/password", {
        token,
        body: { current_password: password, new_password: "a longer one than before" },
      }),
    () => app.call("POST", "/api/auth/logout", { token }),
  );

  expect(answers.map(outcome)).toEqual(["401 unauthorized", "204"]);
  expect(deadlocks).toEqual([]);
});
