import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { seedEvents } from "./chain-support.ts";
import { composeAuditChain } from "./compose-chain.ts";

let app: TestApp;
let other: TestApp;
beforeAll(async () => {
  app = await startApp();
  other = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await other.close();
  await app.close();
});

const verify = (by: Somebody, at: TestApp = app) =>
  at.call("GET", `/api/organizations/${by.org}/audit-events/verify`, { token: by.token });
const links = (by: Somebody) =>
  runSql<{ position: number; event_id: string }>(
    app.databaseUrl,
    "select position, event_id from audit_links where org_key = $1 order by position",
    [by.org],
  );
const sql = (text: string, params: unknown[] = []) => runSql(app.databaseUrl, text, params);

/** An organization with ten linked events. */
async function tenEvents(): Promise<Somebody> {
  const by = await founder(app);
  await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 9, from: new Date(Date.now() - 3_600_000) });
  expect((await verify(by)).body).toMatchObject({ valid: true, events: 10, purged: 0, first_broken_event_id: null });
  return by;
}

describe("verification", () => {
  it("verification links pending events first and returns the signed head", async () => {
    const by = await founder(app);
    const { status, body } = await verify(by);
    expect(status).toBe(200);
    expect(body).toMatchObject({ valid: true, events: 1, purged: 0, first_broken_event_id: null });
    expect(body.head).toMatchObject({
      sequence: 1,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      signature: expect.stringMatching(/^[\w-]{86}$/),
    });
    const { body: jwks } = await app.call("GET", `/api/organizations/${by.org}/.well-known/jwks.json`);
    expect(jwks.keys.map(({ kid }: { kid: string }) => kid)).toContain(body.head.kid);
  });

  it.each([
    ["a changed payload", `update audit_events set metadata = '{"a":1}' where event_id = $1`],
    ["a changed outcome", `update audit_events set outcome = 'failure' where event_id = $1`],
    ["a changed time", `update audit_events set created_at = created_at + interval '1 second' where event_id = $1`],
    ["a removed event", `delete from audit_events where event_id = $1`],
    ["an event that is there and said to be purged", `update audit_links set purged_at = now() where event_id = $1`],
    [
      "a removed event that is said to be purged",
      `with gone as (delete from audit_events where event_id = $1) update audit_links set purged_at = now() where event_id = $1`,
    ],
    [
      "a link that hides a removed event",
      `update audit_links set purged_at = now(), created_at = created_at - interval '200 days' where event_id = $1`,
    ],
    ["a removed link", `delete from audit_links where event_id = $1`, 1],
    ["a changed link", `update audit_links set payload_hash = sha256('x') where event_id = $1`],
  ])("tells the first event broken by %s", async (_what, statement, later = 0) => {
    const by = await tenEvents();
    const chain = await links(by);
    await sql(statement, [chain[4]?.event_id]);
    expect((await verify(by)).body).toMatchObject({ valid: false, first_broken_event_id: chain[4 + later]?.event_id });
  });

  it("verification names the first of two swapped events", async () => {
    const by = await tenEvents();
    const chain = await links(by);
    await sql("update audit_links set position = -position + 1000 where org_key = $1 and position in (4, 5)", [by.org]);
    await sql(
      "update audit_links set position = case position when 996 then 5 else 4 end where org_key = $1 and position > 900",
      [by.org],
    );
    expect((await verify(by)).body).toMatchObject({ valid: false, first_broken_event_id: chain[4]?.event_id });
  });

  it("verification detects events and links removed at the end, and heads not signed by the service", async () => {
    const by = await tenEvents();
    const [last] = (await links(by)).slice(-1);
    await sql(
      "with gone as (delete from audit_events where event_id = $1) delete from audit_links where event_id = $1",
      [last?.event_id],
    );
    expect((await verify(by)).body).toMatchObject({ valid: false, events: 10 });
    const again = await tenEvents();
    await sql(
      "update audit_heads h set position = 9, hash = l.hash from audit_links l where l.org_key = h.org_key and l.position = 9 and h.org_key = $1",
      [again.org],
    );
    expect((await verify(again)).body.valid).toBe(false);
    // What comes later is not linked to such a head, which would be to sign it.
    await seedEvents(app.databaseUrl, { orgUuid: again.org, events: 1, from: new Date() });
    expect((await verify(again)).body.valid).toBe(false);
    expect(await links(again)).toHaveLength(10);
  });

  it("verification detects an event that was not inserted by the service", async () => {
    const by = await tenEvents();
    const [event] = await runSql<{ event_id: string }>(
      app.databaseUrl,
      `insert into audit_events (event_id, type, is_auth, outcome, org_uuid, ip_address, user_agent, created_at)
      values (gen_random_uuid(), 'login.password', true, 'success', $1, '', '', now() - interval '2 hours') returning event_id`,
      [by.org],
    );
    expect((await verify(by)).body).toMatchObject({ valid: false, first_broken_event_id: event?.event_id });
  });

  it("only the organization's admins verify its log", async () => {
    const [by, stranger] = [await founder(app), await founder(app)];
    expect(await verify({ ...by, token: stranger.token })).toMatchObject({ status: 404 });
    expect(await verify({ ...by, token: "x" })).toMatchObject({ status: 401 });
  });

  it("verification succeeds after the signing key was rotated", async () => {
    const by = await tenEvents();
    const before = (await verify(by)).body.head.kid;
    expect(
      (
        await app.call("POST", `/api/admin/organizations/${by.org}/signing-keys`, {
          token: by.token,
          body: { algorithm: "ed25519" },
        })
      ).status,
    ).toBe(201);
    const { body } = await verify(by);
    expect(body).toMatchObject({ valid: true, events: 11 });
    expect(body.head.kid).not.toBe(before);
  });
});

describe("writers", () => {
  it("concurrent writers and two linking instances make a chain without gaps", async () => {
    const by = await founder(app);
    const body = { email: by.email, password: "wrong", org_name: by.orgName };
    const logins = Array.from({ length: 50 }, (_, n) =>
      (n % 2 === 0 ? app : other).call("POST", "/api/auth/login", {
        body: n % 5 === 0 ? { ...body, password: "a long enough one" } : body,
      }),
    );
    const checks = Array.from({ length: 8 }, (_, n) => verify(by, n % 2 === 0 ? app : other));
    const answers = await Promise.all([...logins, ...checks]);
    expect(answers.slice(50).map(({ status, body: answer }) => `${status} ${answer?.valid}`)).toEqual(
      Array(8).fill("200 true"),
    );
    const events = await runSql<{ n: number }>(
      app.databaseUrl,
      "select count(*)::int as n from audit_events where org_uuid = $1",
      [by.org],
    );
    const answer = (await verify(by, other)).body;
    expect(answer).toMatchObject({ valid: true, events: events[0]?.n, head: { sequence: events[0]?.n } });
    expect(answer.events).toBe(51);
    expect((await links(by)).map(({ position }) => position)).toEqual(Array.from({ length: 51 }, (_, n) => n + 1));
  });

  it("transactions may commit in another order than they began", async () => {
    const by = await founder(app);
    const { Client } = (await import("pg")).default;
    const slow = new Client({ connectionString: app.databaseUrl });
    await slow.connect();
    await slow.query("begin");
    await slow.query(
      `with e as (insert into audit_events (event_id, type, is_auth, outcome, org_uuid, ip_address, user_agent, created_at)
      values (gen_random_uuid(), 'login.password', true, 'success', $1, '', '', now()) returning sequence) insert into audit_pending select $1, sequence from e`,
      [by.org],
    );
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 3, from: new Date() });
    expect((await verify(by)).body).toMatchObject({ valid: true, events: 4 });
    await slow.query("commit");
    await slow.end();
    expect((await verify(by)).body).toMatchObject({ valid: true, events: 5 });
  });
});

describe("the background", () => {
  it("the linker links the pending events of every chain", async () => {
    const somebody = await Promise.all([founder(app), founder(app)]);
    await seedEvents(app.databaseUrl, { orgUuid: null, events: 1_500, from: new Date() });
    const { chain, close } = await composeAuditChain(app.databaseUrl, app.clock);
    chain.linker.poller.start();
    await expect
      .poll(() =>
        sql("select 1 from audit_pending where org_key = any($1)", [
          [...somebody.map(({ org }) => org), "00000000-0000-0000-0000-000000000000"],
        ]),
      )
      .toEqual([]);
    await chain.linker.poller.drain(10_000);
    await close();
    expect(await links(somebody[1])).toHaveLength(1);
  });

  it("a chain that cannot be linked holds up none behind it", async () => {
    const [first, last] = (await Promise.all([founder(app), founder(app)])).sort((a, b) => (a.org < b.org ? -1 : 1));
    await sql(`create function refused_link() returns trigger language plpgsql as $$ begin
      if new.org_key = '${first?.org ?? ""}' then raise exception 'refused'; end if; return new; end $$`);
    await sql("create trigger refused before insert on audit_links for each row execute function refused_link()");
    const pending = async (org = "") => (await sql("select 1 from audit_pending where org_key = $1", [org])).length;
    const { chain, close } = await composeAuditChain(app.databaseUrl, app.clock);
    chain.linker.poller.start();
    await expect.poll(() => pending(last?.org)).toBe(0);
    expect(await pending(first?.org)).toBeGreaterThan(0);
    await sql("drop trigger refused on audit_links");
    await expect.poll(() => pending(first?.org)).toBe(0);
    await chain.linker.poller.drain(10_000);
    await close();
  });
});

describe("queries", () => {
  it("audit queries share a rate limit of 60 a minute over all routes and instances", async () => {
    const by = await founder(app);
    const org = `/api/organizations/${by.org}/audit-events`;
    const { body } = await app.call("GET", org, { token: by.token });
    const paths = [
      org,
      `${org}/verify`,
      `${org}/export`,
      "/api/auth/events",
      `/api/admin/organizations/${by.org}/auth-events`,
      `/api/auth/events/${body.data[0].event_id}`,
    ];
    const statuses = [];
    for (let n = 0; n < 59; n++)
      statuses.push(
        (await (n % 2 === 0 ? app : other).call("GET", paths[n % paths.length] ?? "", { token: by.token })).status,
      );
    expect(statuses.filter((status) => status === 429)).toEqual([]);
    for (const path of paths) {
      const refused = await other.call("GET", path, { token: by.token });
      expect(refused).toMatchObject({ status: 429, body: { code: "rate_limited" } });
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(
      (await app.call("POST", `/api/admin/organizations/${by.org}/auth-events/purge`, { token: by.token })).status,
    ).toBe(200);
    app.clock.advance(60_001);
    expect((await app.call("GET", org, { token: by.token })).status).toBe(200);
  });
});

describe("the application's role", () => {
  it.each([
    "update audit_links set purged_at = now()",
    "delete from audit_links",
    "delete from audit_heads",
    "update audit_events set type = 'x'",
    "delete from audit_events",
    "truncate audit_links",
  ])("cannot %s", async (statement) => {
    await expect(sql(`set role atrium_app; ${statement}`)).rejects.toMatchObject({ code: "42501" });
  });
});
