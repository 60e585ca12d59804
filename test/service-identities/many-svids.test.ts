import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listenToStatements } from "../lists/statements.ts";
import { identity, workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { copyRows } from "../support/copies.ts";
import { elevated } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const statements = listenToStatements();
let app: TestApp;
let owner: Workloads;
beforeAll(async () => {
  app = await startApp();
  owner = await workloads(app);
});
afterAll(() => app.close());

/** Stores the records of active SVIDs. */
const record = (identityId: string, count: number): Promise<unknown> =>
  runSql(
    app.databaseUrl,
    `insert into svids (svid_id, identity_id, org_uuid, spiffe_id, serial, not_before, not_after, created_at)
     select gen_random_uuid(), $1::uuid, $2::uuid, 'spiffe://many', md5(n || $1::uuid::text), $3::timestamptz,
       $3::timestamptz + interval '1 hour', $3::timestamptz
     from generate_series(1, $4::int) n`,
    [identityId, owner.org, new Date(app.clock.now()), count],
  );

test("deleting an identity revokes very many SVIDs at once, with an event for each", async () => {
  const identityId = await identity(app, owner);
  await record(identityId, 2_500);
  const hook = await app.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: "https://example.com/hook", events: ["svid.revoked"], scope: "org" },
  });
  expect(hook.status).toBe(201);
  const path = `/api/organizations/${owner.org}/service-identities/${identityId}`;
  expect((await app.call("DELETE", path, { token: owner.token })).status).toBe(204);
  const [counts] = await runSql(
    app.databaseUrl,
    `select (select count(*)::int from svids where identity_id = $1 and revoked_at is null) as active,
       (select count(*)::int from webhook_deliveries d join webhook_events e using (event_id)
         where e.type = 'svid.revoked' and e.body like '%spiffe://many%') as sent,
       (select count(distinct resource_id)::int from audit_events
         where org_uuid = $2 and type = 'svid.revoked' and metadata->>'reason' = 'identity_deleted') as recorded`,
    [identityId, owner.org],
  );
  expect(counts).toEqual({ active: 0, sent: 2_500, recorded: 2_500 });
});

test("several deletions of an identity at once succeed once, and record each SVID once", async () => {
  const identityId = await identity(app, owner);
  await record(identityId, 1_500);
  const path = `/api/organizations/${owner.org}/service-identities/${identityId}`;
  const answers = await Promise.all([1, 2, 3].map(() => app.call("DELETE", path, { token: owner.token })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 404, 404]);
  const [counts] = await runSql(
    app.databaseUrl,
    `select count(*)::int as recorded from audit_events
     where org_uuid = $1 and type = 'svid.revoked' and metadata->>'identity_id' = $2`,
    [owner.org, identityId],
  );
  expect(counts).toEqual({ recorded: 1_500 });
});

test("deleting an identity revokes all of its very many SVIDs while others are being revoked", async () => {
  const identityId = await identity(app, owner);
  await record(identityId, 2_500);
  const other = new pg.Client({ connectionString: app.databaseUrl });
  await other.connect();
  try {
    await other.query("begin");
    const some = "select svid_id from svids where identity_id = $1 order by md5(svid_id::text) limit 600";
    await other.query(`update svids set revoked_at = $2 where svid_id in (${some})`, [
      identityId,
      new Date(app.clock.now()),
    ]);
    const path = `/api/organizations/${owner.org}/service-identities/${identityId}`;
    const deleting = app.call("DELETE", path, { token: owner.token });
    const waiting = `select 1 from pg_stat_activity
      where wait_event_type = 'Lock' and query like '%svids%' and datname = current_database()`;
    await expect.poll(() => runSql(app.databaseUrl, waiting)).toHaveLength(1);
    await other.query("commit");
    expect((await deleting).status).toBe(204);
  } finally {
    await other.end();
  }
  const [counts] = await runSql(
    app.databaseUrl,
    `select (select count(*)::int from svids where identity_id = $1 and revoked_at is null) as active,
       (select count(*)::int from audit_events
         where org_uuid = $2 and type = 'svid.revoked' and metadata->>'identity_id' = $1::text) as recorded`,
    [identityId, owner.org],
  );
  expect(counts).toEqual({ active: 0, recorded: 1_900 });
});

test("deleting an identity revokes its tokens in batches, and deleting an organization its identities", async () => {
  const other = await workloads(app);
  const identityId = await identity(app, other);
  await runSql(
    app.databaseUrl,
    `insert into automation_tokens (token_id, identity_id, org_uuid, name, hash, created_at, expires_at)
     select gen_random_uuid(), $1, $2, 'many', sha256(n::text::bytea), now(), now() + interval '1 day'
     from generate_series(1, 6000) n`,
    [identityId, other.org],
  );
  const values = { identity_id: "gen_random_uuid()", name: "'many ' || n" };
  const copied = { where: "source.identity_id = $1", values, count: 6_000 };
  await copyRows(app.databaseUrl, "service_identities", copied, [identityId]);
  const updates = (table: string) => statements.take().filter(({ text }) => text.includes(`update ${table} set`));
  const living = (table: string, end: string) =>
    runSql(app.databaseUrl, `select 1 as one from ${table} where org_uuid = $1 and ${end} is null`, [other.org]);

  statements.take();
  const path = `/api/organizations/${other.org}`;
  const deleted = await app.call("DELETE", `${path}/service-identities/${identityId}`, { token: other.token });
  expect(deleted.status).toBe(204);
  expect(updates("automation_tokens")).toHaveLength(3);
  expect(await living("automation_tokens", "revoked_at")).toEqual([]);
  expect((await app.call("DELETE", path, { token: await elevated(app, other.token) })).status).toBe(204);
  expect(updates("service_identities")).toHaveLength(3);
  expect(await living("service_identities", "deleted_at")).toEqual([]);
});
