import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyExport } from "../../src/audit-proof/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { seedEvents } from "./chain-support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const day = 86_400_000;
const ago = (days: number) => new Date(Date.now() - days * day);
const sql = (text: string, params: unknown[] = []) => runSql(app.databaseUrl, text, params);
const purge = (by: Somebody) =>
  app.call("POST", `/api/admin/organizations/${by.org}/auth-events/purge`, { token: by.token });
const verify = async (by: Somebody) =>
  (await app.call("GET", `/api/organizations/${by.org}/audit-events/verify`, { token: by.token })).body;
const total = async (by: Somebody, query = "") =>
  (await app.call("GET", `/api/organizations/${by.org}/audit-events${query}`, { token: by.token })).body
    .total as number;

/** The export, proven with the organization's keys. */
async function proof(by: Somebody) {
  const { text } = await app.call("GET", `/api/organizations/${by.org}/audit-events/export?format=ndjson`, {
    token: by.token,
  });
  const { body } = await app.call("GET", `/api/organizations/${by.org}/.well-known/jwks.json`);
  return verifyExport(new Blob([text]).stream().pipeThrough(new TextDecoderStream()), body);
}

describe("a purge", () => {
  it("a purge removes events older than the retention period and keeps the chain verifiable and the totals exact", async () => {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 40, from: ago(100), everySeconds: 3_600 });
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 10, from: ago(80), everySeconds: 3_600 });
    expect(await total(by)).toBe(51);
    expect(await purge(by)).toMatchObject({ status: 200, body: { purged: 40 } });
    expect(await total(by)).toBe(12);
    expect(await total(by, "?type=login.password")).toBe(2);
    expect(await total(by, `?to=${ago(90).toISOString()}`)).toBe(0);
    expect(await verify(by)).toMatchObject({ valid: true, events: 52, purged: 40, first_broken_event_id: null });
    expect(await proof(by)).toMatchObject({ events: 12, purged: 40, outside: 0, problem: null });
    const noted = await app.call("GET", `/api/organizations/${by.org}/audit-events?type=audit.purged`, {
      token: by.token,
    });
    expect(noted.body).toMatchObject({ total: 1, data: [{ metadata: { purged: 40 }, actor: { id: by.userUuid } }] });
    expect((await purge(by)).body).toEqual({ purged: 0 });
    expect(
      await runSql(app.databaseUrl, "select 1 from audit_counts where org_key = $1 and events = 0", [by.org]),
    ).toEqual([]);
  });

  it("an export verifies events between purged ones, and detects that a recent one was removed", async () => {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 2, from: ago(1) });
    await verify(by);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 3, from: ago(100) });
    await verify(by);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 2, from: ago(1) });
    expect((await purge(by)).body).toEqual({ purged: 3 });
    expect(await verify(by)).toMatchObject({ valid: true, events: 9, purged: 3 });
    expect(await proof(by)).toMatchObject({ events: 6, purged: 3, problem: null });
    const [young] = await runSql<{ event_id: string }>(
      app.databaseUrl,
      "select event_id from audit_links where org_key = $1 and position = 3",
      [by.org],
    );
    await sql("delete from audit_events where event_id = $1", [young?.event_id]);
    await sql("update audit_links set purged_at = now() where event_id = $1", [young?.event_id]);
    expect(await verify(by)).toMatchObject({ valid: false, first_broken_event_id: young?.event_id });
    expect((await proof(by)).problem).toMatchObject({ eventId: young?.event_id });
  });

  it("a purge that fails half way has recorded what it removed", async () => {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 5_001, from: ago(100) });
    await sql(`create function refused_removal() returns trigger language plpgsql as $$ begin
      if (select count(*) from audit_links where org_key = '${by.org}' and purged_at is not null) >= 5000
      then raise exception 'refused'; end if; return null; end $$`);
    await sql("create trigger refused before delete on audit_events execute function refused_removal()");
    expect((await purge(by)).status).toBe(500);
    await sql("drop trigger refused on audit_events");
    const recorded = async () =>
      (
        await app.call("GET", `/api/organizations/${by.org}/audit-events?type=audit.purged`, { token: by.token })
      ).body.data.map(({ metadata }: { metadata: { purged: number } }) => metadata.purged);
    expect(await recorded()).toEqual([5_000]);
    expect((await purge(by)).body).toEqual({ purged: 1 });
    expect(await recorded()).toEqual([1, 5_000]);
    expect(await verify(by)).toMatchObject({ valid: true, purged: 5_001 });
  });

  it("the application's role cannot purge more than the retention period allows", async () => {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 5, from: ago(80) });
    await verify(by);
    await sql(`set role atrium_app; select audit_purge('${by.org}', 100)`);
    await expect(
      sql(
        "set role atrium_app; update organization_settings set audit_retention_days = 1; insert into organization_settings values ($1, 1, null, now())".replace(
          "$1",
          `'${by.org}'`,
        ),
      ),
    ).rejects.toMatchObject({ code: "23514" });
    expect(await total(by)).toBe(6);
  });

  it("the daily purge covers every organization, and events without one", async () => {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 5, from: ago(95) });
    await seedEvents(app.databaseUrl, { orgUuid: null, events: 5, from: ago(95) });
    await verify(by);
    const { composeAuditChain } = await import("./compose-chain.ts");
    const { chain, close } = await composeAuditChain(app.databaseUrl, app.clock);
    await chain.linker.linkAll(null);
    let rounds = 0;
    while ((await chain.purgeDaily()) > 0) rounds++;
    expect(rounds).toBe(1);
    await close();
    expect(
      await runSql(app.databaseUrl, "select 1 from audit_events where created_at < now() - interval '91 days'"),
    ).toEqual([]);
    expect(await total(by)).toBe(2);
    const noted = await app.call("GET", `/api/organizations/${by.org}/audit-events?type=audit.purged`, {
      token: by.token,
    });
    expect(noted.body.data[0]).toMatchObject({ actor: { type: "system", id: null, email: null }, user_uuid: null });
  });

  it("the daily purge leaves the rest of a long log to its next call, after the other tidy tasks", async () => {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 5_001, from: ago(100) });
    await verify(by);
    const { composeAuditChain } = await import("./compose-chain.ts");
    const { chain, close } = await composeAuditChain(app.databaseUrl, app.clock);
    const old = async () => total(by, `?to=${ago(90).toISOString()}`);
    for (let calls = 0; calls < 10 && (await old()) === 5_001; calls++) await chain.purgeDaily();
    expect(await old()).toBe(1);
    while ((await chain.purgeDaily()) > 0);
    expect(await old()).toBe(0);
    await close();
  });

  it("a purge of a log whose chain does not verify is refused and removes nothing", async () => {
    const by = await founder(app);
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 3, from: ago(100) });
    await verify(by);
    await sql("update audit_heads set seal = '\\x00' where org_key = $1", [by.org]);
    expect(await purge(by)).toMatchObject({
      status: 409,
      body: { code: "conflict", message: expect.stringContaining("does not verify") },
    });
    expect(await total(by, `?to=${ago(90).toISOString()}`)).toBe(3);
  });
});

describe("the operator's settings", () => {
  const set = (token: string, body: unknown) => app.call("POST", "/api/operator/config", { token, body });
  const get = (token: string, query = "") => app.call("GET", `/api/operator/config${query}`, { token });

  it("the plan enterprise keeps events longer, until 30 days after it ends", async () => {
    const [operator, by] = [await app.login(), await founder(app)];
    const body = { org_uuid: by.org, audit_retention_days: 365 };
    expect((await get(operator, `?org_uuid=${by.org}`)).body).toEqual({
      org_uuid: by.org,
      audit_retention_days: 90,
      plan: "free",
      updated_at: null,
    });
    expect(await set(operator, body)).toMatchObject({ status: 422, body: { code: "unprocessable" } });
    expect(await set(operator, { ...body, audit_retention_days: 90 })).toMatchObject({
      status: 200,
      body: { audit_retention_days: 90 },
    });
    await sql("update organizations set plan = 'pro' where uuid = $1", [by.org]);
    expect(await set(operator, { ...body, audit_retention_days: 91 })).toMatchObject({ status: 422 });
    await sql("update organizations set plan = 'enterprise' where uuid = $1", [by.org]);
    const { status, body: answer } = await set(operator, body);
    expect([status, Object.keys(answer)]).toEqual([200, ["org_uuid", "audit_retention_days", "plan", "updated_at"]]);
    expect(answer).toMatchObject({ ...body, plan: "enterprise", updated_at: expect.any(String) });
    await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 4, from: ago(200) });
    expect((await purge(by)).body).toEqual({ purged: 0 });
    await sql("update organizations set plan = 'free' where uuid = $1", [by.org]);
    expect((await purge(by)).body).toEqual({ purged: 0 });
    await sql("update organization_settings set enterprise_ended_at = now() - interval '29 days' where org_uuid = $1", [
      by.org,
    ]);
    expect((await purge(by)).body).toEqual({ purged: 0 });
    await sql("update organization_settings set enterprise_ended_at = now() - interval '31 days' where org_uuid = $1", [
      by.org,
    ]);
    expect((await get(operator, `?org_uuid=${by.org}`)).body).toMatchObject({ audit_retention_days: 90 });
    expect((await purge(by)).body).toEqual({ purged: 4 });
    expect(await total(by, "?type=retention.updated")).toBe(2);
  });

  it("retention settings are listed by name", async () => {
    const operator = await app.login();
    const { status, body } = await get(operator, "?limit=2&offset=1");
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["data", "total", "limit", "offset"]);
    expect(body).toMatchObject({ limit: 2, offset: 1 });
    expect(body.data).toHaveLength(2);
    expect(body.data[0]).toMatchObject({ audit_retention_days: 90, updated_at: null });
  });

  it("only the operator changes retention settings, of existing organizations and within bounds", async () => {
    const [operator, by] = [await app.login(), await founder(app)];
    const unknown = "00000000-0000-4000-8000-000000000000";
    expect(await set(by.token, { org_uuid: by.org, audit_retention_days: 90 })).toMatchObject({ status: 403 });
    expect(await get(by.token)).toMatchObject({ status: 403 });
    expect(await set(operator, { org_uuid: unknown, audit_retention_days: 90 })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
    expect(await get(operator, `?org_uuid=${unknown}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
    for (const days of [0, 89, 366, undefined])
      expect(await set(operator, { org_uuid: by.org, audit_retention_days: days })).toMatchObject({
        status: 400,
        body: { code: "validation_error" },
      });
    expect(await get(operator, "?limit=0")).toMatchObject({ status: 400 });
  });
});
