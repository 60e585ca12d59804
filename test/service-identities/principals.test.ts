import { randomBytes } from "node:crypto";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { apiKey, automationToken, done, platformAdmin, publishApp } from "../matrix/world.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevated, founder, invite, newcomer } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let one: TestApp;
let two: TestApp;
beforeAll(async () => {
  one = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  two = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, databaseUrl: one.databaseUrl, clock: one.clock });
});
afterAll(async () => {
  await two.close();
  await one.close();
});

const identities = ({ org }: Pick<Somebody, "org">): string => `/api/organizations/${org}/service-identities`;
const me = (app: TestApp, token: string): Promise<Answer> => app.call("GET", "/api/auth/me", { token });
const some = (): string => randomBytes(4).toString("hex");

test("an automation token is a caller of its own type with the role of its identity", async () => {
  const owner = await founder(one);
  const { identityId, token } = await automationToken(one, owner, 2);
  expect(await me(one, token)).toMatchObject({
    status: 200,
    body: {
      user_uuid: null,
      email: null,
      org_uuid: owner.org,
      org_name: owner.orgName,
      roles: ["manager"],
      entitlements: ["marketplace"],
      app_admin: [],
      platform_admin: false,
      sandbox: false,
      principal: { type: "automation_token", id: identityId },
    },
  });
  for (const path of ["/api/v1/me/mfa/factors", "/api/profile", "/api/auth/step-up/status"])
    expect(await one.call("GET", path, { token })).toMatchObject({ status: 403, body: { code: "forbidden" } });
  expect((await one.call("GET", identities(owner), { token })).status).toBe(403);
  const read = await one.call("GET", `${identities(owner)}/${identityId}`, { token: owner.token });
  expect(Date.parse(read.body.last_auth_at as string)).toBe(one.clock.now());
  const listed = await one.call("GET", `${identities(owner)}/automation-tokens`, { token: owner.token });
  expect(Date.parse(listed.body.data[0].last_used_at as string)).toBe(one.clock.now());
});

test("an event that an automation token causes names its identity and no person", async () => {
  const owner = await founder(one);
  const { identityId, token } = await automationToken(one, owner);
  const principal = { type: "automation_token", id: identityId };
  done(await one.call("POST", identities(owner), { token, body: { name: some(), role_id: 3 } }));
  const audit = await one.call("GET", `/api/organizations/${owner.org}/audit-events?type=service_identity.created`, {
    token: owner.token,
  });
  expect(audit.body.data[0]).toMatchObject({
    user_uuid: null,
    actor: { ...principal, email: null },
    metadata: { principal },
  });
  expect(audit.body.data[1].metadata).not.toHaveProperty("principal");
});

test("a change of role is in force with the next request of a token on any instance", async () => {
  const owner = await founder(one);
  const { identityId, token } = await automationToken(one, owner);
  for (const [roleId, role, status] of [
    [3, "employee", 403],
    [1, "admin", 200],
    [5, "limited_access", 403],
  ] as const) {
    await me(two, token);
    done(
      await one.call("PATCH", `${identities(owner)}/${identityId}`, { token: owner.token, body: { role_id: roleId } }),
    );
    expect((await me(two, token)).body.roles).toEqual([role]);
    expect((await two.call("GET", identities(owner), { token })).status).toBe(status);
  }
});

/** Ends of a token, each in another way, as its owner asks for it at one instance. */
const ends: Record<string, (owner: Somebody, token: { id: string; identityId: string }) => Promise<Answer>> = {
  "it is revoked": (owner, { id }) =>
    one.call("DELETE", `${identities(owner)}/automation-tokens/${id}`, { token: owner.token }),
  "its identity is deleted": (owner, { identityId }) =>
    one.call("DELETE", `${identities(owner)}/${identityId}`, { token: owner.token }),
  "its organization is deleted": async (owner) =>
    one.call("DELETE", `/api/organizations/${owner.org}`, { token: await elevated(one, owner.token) }),
};

test.each(Object.keys(ends))("an automation token is refused by every instance from the moment %s", async (how) => {
  for (let round = 0; round < 5; round++) {
    const owner = await founder(one);
    const made = await automationToken(one, owner);
    for (const app of [one, two]) expect((await me(app, made.token)).status).toBe(200);
    expect((await ends[how]?.(owner, made))?.status).toBe(204);
    expect((await me(two, made.token)).status).toBe(401);
    expect((await me(one, made.token)).status).toBe(401);
  }
});

test.each(Object.keys(ends).slice(0, 2))(
  "of writes that race with the end of their automation token, none commits after %s",
  async (how) => {
    const owner = await founder(one);
    const made = await automationToken(one, owner);
    const write = (at: number): Promise<Answer> =>
      (at % 2 === 0 ? one : two).call("POST", identities(owner), {
        token: made.token,
        body: { name: `raced ${at}`, role_id: 3 },
      });
    const writes = Array.from({ length: 30 }, (_, at) => write(at));
    const end = await ends[how]?.(owner, made);
    expect(end?.status).toBe(204);
    const late = await Promise.all(Array.from({ length: 10 }, (_, at) => write(100 + at)));
    expect(late.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 401));
    const statuses = (await Promise.all(writes)).map(({ status }) => status);
    expect(new Set([...statuses, 201, 401])).toEqual(new Set([201, 401]));
    const [{ late: afterEnd = -1 } = {}] = await runSql<{ late: number }>(
      one.databaseUrl,
      `select count(*)::int as late from audit_events e
       where e.org_uuid = $1 and e.type = 'service_identity.created' and e.actor ->> 'type' = 'automation_token'`,
      [owner.org],
    );
    expect(afterEnd).toBe(statuses.filter((status) => status === 201).length);
  },
);

test("an automation token expires by the clock", async () => {
  const owner = await founder(one);
  const { identity_id } = done(
    await one.call("POST", identities(owner), { token: owner.token, body: { name: "short", role_id: 3 } }),
  );
  const { token = "" } = done(
    await one.call("POST", `${identities(owner)}/automation-token`, {
      token: owner.token,
      body: { name: "t", identity_id, expires_in: 2 },
    }),
  );
  expect((await me(one, token)).status).toBe(200);
  one.clock.advance(1_999);
  expect((await me(one, token)).status).toBe(200);
  one.clock.advance(1);
  expect((await me(one, token)).status).toBe(401);
  expect((await me(two, token)).status).toBe(401);
});

test("a stream that an automation token opened ends when its identity is deleted at another instance", async () => {
  const owner = await founder(one);
  const platform = await platformAdmin(one);
  const { slug } = await publishApp(one, platform.token, platform.token);
  const { install_id: installId = "" } = done(
    await one.call("POST", `/api/marketplace/${slug}/install`, { token: owner.token, body: {} }),
  );
  const { identityId, token } = await automationToken(one, owner);
  const stream = createClient(BuyerService, createConnectTransport({ baseUrl: one.url, httpVersion: "1.1" }))
    .watchInstall({ installId }, { headers: { authorization: `Bearer ${token}` } })
    [Symbol.asyncIterator]();
  expect((await stream.next()).value).toMatchObject({ installId });
  const end = stream.next().then(
    () => undefined,
    (error: unknown) => error,
  );
  done(await two.call("DELETE", `${identities(owner)}/${identityId}`, { token: owner.token }));
  const error = await end;
  expect(error).toBeInstanceOf(ConnectError);
  expect((error as ConnectError).code).toBe(Code.Unauthenticated);
});

const changes: Record<string, { sql: string; then: object }> = {
  "the plan of its organization": {
    sql: "update organizations set plan = 'pro' where uuid = $1",
    then: { entitlements: ["marketplace", "priority_support"] },
  },
  "the name of its organization": {
    sql: "update organizations set name = 'Renamed ' || uuid where uuid = $1",
    then: { org_name: expect.stringMatching(/^Renamed/u) as string },
  },
  "whether its organization is a sandbox": {
    sql: "update organizations set sandbox = true where uuid = $1",
    then: { sandbox: true },
  },
};

test.each(Object.keys(changes))("a cached credential shows %s from the commit of its change on", async (what) => {
  const { sql, then } = changes[what] as (typeof changes)[string];
  const owner = await founder(one);
  const { token } = await automationToken(one, owner);
  const { key } = await apiKey(one, owner, ["admin"]);
  for (const bearer of [token, key]) {
    await me(two, bearer);
    expect((await me(two, bearer)).body).not.toMatchObject(then);
  }
  await runSql(one.databaseUrl, sql, [owner.org]);
  for (const bearer of [token, key]) expect((await me(two, bearer)).body).toMatchObject(then);
});

test("a cached API key shows an app that its maker publishes, and loses one whose grant is revoked", async () => {
  const owner = await founder(one);
  const { key } = await apiKey(one, owner, ["admin"]);
  for (let time = 0; time < 3; time++) expect((await me(two, key)).body.app_admin).toEqual([]);
  const { appId } = await publishApp(one, owner.token);
  expect((await me(two, key)).body.app_admin).toEqual([appId]);
  await runSql(one.databaseUrl, "update memberships set is_owner = false where org_uuid = $1", [owner.org]);
  expect((await me(two, key)).body.app_admin).toEqual([appId]);
  await runSql(one.databaseUrl, "delete from app_admins where app_id = $1", [appId]);
  expect((await me(two, key)).body.app_admin).toEqual([]);
});

test("an invitation that an identity sent is accepted while the identity could still grant the role", async () => {
  const owner = await founder(one);
  const { identityId, token } = await automationToken(one, owner);
  const accept = async (email: string): Promise<Answer> => {
    const mailed = await invite(one, { ...owner, token }, email);
    return one.call("POST", "/api/auth/invite/accept", { body: { token: mailed.token, ...newcomer() } });
  };
  expect((await accept(`invited${some()}@people.test`)).status).toBeLessThan(300);
  const open = await invite(one, { ...owner, token }, `late${some()}@people.test`);
  done(await one.call("PATCH", `${identities(owner)}/${identityId}`, { token: owner.token, body: { role_id: 2 } }));
  expect(
    await one.call("POST", "/api/auth/invite/accept", { body: { token: open.token, ...newcomer() } }),
  ).toMatchObject({ status: 404, body: { code: "invitation_not_found" } });
});

test("the end of an identity ends its SVIDs and is told of each", async () => {
  const owner = await founder(one);
  const { identityId } = await automationToken(one, owner);
  const insert = `insert into svids
      (svid_id, identity_id, org_uuid, spiffe_id, serial, not_before, not_after, created_at)
    values (gen_random_uuid(), $1, $2, 'spiffe://x/svc/one', $3, $4, $5, $4) returning svid_id`;
  const at = new Date(one.clock.now());
  const until = new Date(one.clock.now() + 3_600_000);
  for (const serial of ["0a", "0b"]) await runSql(one.databaseUrl, insert, [identityId, owner.org, serial, at, until]);
  await runSql(one.databaseUrl, insert, [identityId, owner.org, "0c", new Date(0), new Date(1)]);
  const path = `${identities(owner)}/${identityId}`;
  expect((await one.call("GET", path, { token: owner.token })).body).toMatchObject({
    svid_count: 2,
    svids: [{ status: "active" }, { status: "active" }],
  });
  done(await one.call("DELETE", path, { token: owner.token }));
  const rows = await runSql<{ serial: string }>(
    one.databaseUrl,
    "select serial from svids where identity_id = $1 and revoked_at is not null order by serial",
    [identityId],
  );
  expect(rows.map(({ serial }) => serial)).toEqual(["0a", "0b"]);
  const events = await one.call("GET", "/api/auth/events?type=svid.revoked", { token: owner.token });
  expect(events.body.total).toBe(2);
  const serials = (events.body.data as { metadata: { serial: string } }[]).map(({ metadata }) => metadata.serial);
  expect(serials.toSorted()).toEqual(["0a", "0b"]);
});

test("an API key that an identity made has its present power, and ends with it", async () => {
  const owner = await founder(one);
  const { identityId, token } = await automationToken(one, owner);
  const { key } = await apiKey(one, { org: owner.org, token }, ["read:identities", "write:credentials"]);
  const child = await apiKey(one, { org: owner.org, token: key }, ["read:identities"]);
  const list = async (bearer: string): Promise<number> =>
    (await two.call("GET", identities(owner), { token: bearer })).status;
  expect([await list(key), await list(child.key)]).toEqual([200, 200]);
  const change = (roleId: number): Promise<Answer> =>
    one.call("PATCH", `${identities(owner)}/${identityId}`, { token: owner.token, body: { role_id: roleId } });
  done(await change(3));
  expect([await list(key), await list(child.key)]).toEqual([403, 403]);
  done(await change(1));
  expect([await list(key), await list(child.key)]).toEqual([200, 200]);
  done(await one.call("DELETE", `${identities(owner)}/${identityId}`, { token: owner.token }));
  expect([await list(key), await list(child.key)]).toEqual([401, 401]);
});
