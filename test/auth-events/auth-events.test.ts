import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { info, openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import { EVENTS } from "../../src/domains/event-catalogue/index.ts";
import type { Caller } from "../../src/platform/caller.ts";

let identity: Identity;
let admin: Caller;
let stranger: Caller;
beforeAll(async () => {
  identity = await openIdentity();
  await identity.login.bootstrap(identity.owner);
  admin = await identity.me((await identity.loginOwner()).accessToken);
  const made = await identity.login.signUp.signUp(identity.context(undefined), {
    name: "Other",
    email: "o@other.test",
    password: "a long enough one",
    firstName: "Ann",
  });
  stranger = await identity.me(made.accessToken);
  identity.clock.advance(1_000);
  const wrong = identity.login.password.login(identity.anonymous(), {
    email: "owner@acme.test",
    password: "wrong",
    orgName: "Acme",
  });
  await wrong.catch(() => undefined);
  const unknown = identity.login.password.login(identity.anonymous(), {
    email: "nobody@acme.test",
    password: "wrong",
    orgName: "Acme",
  });
  await unknown.catch(() => undefined);
});
afterAll(() => identity.close());

const list = (caller: Caller, query: object = {}) => identity.authEvents.authEvents(identity.context(caller), query);
const none = { status: 404, code: "not_found" };

describe("the list of authentication events", () => {
  it("the list has the events of the caller's organization, newest first", async () => {
    const page = await list(admin, { orgUuid: admin.orgUuid });
    expect(page.data.map(({ type, outcome }) => `${type} ${outcome}`)).toEqual([
      "login.password failure",
      "login.password success",
    ]);
    expect(page).toMatchObject({ total: 2, limit: 50, offset: 0 });
    expect(page.data[0]).toMatchObject({
      userUuid: admin.userUuid,
      orgUuid: admin.orgUuid,
      ipAddress: "192.0.2.1",
      metadata: { code: "unauthorized" },
    });
  });

  it("the complete log answers one event by its id, and no other organization's", async () => {
    const { data } = await list(admin, { orgUuid: admin.orgUuid });
    const one = (caller: Caller, eventId: string) =>
      identity.authEvents.auditEvents(identity.context(caller), { orgUuid: caller.orgUuid ?? "", eventId });
    const eventId = data[0]?.eventId ?? "";
    expect(await one(admin, eventId.toUpperCase())).toMatchObject({ data: [data[0]], total: 1 });
    expect(await one(admin, randomUUID())).toMatchObject({ data: [], total: 0 });
    expect(await one(stranger, eventId)).toMatchObject({ data: [], total: 0 });
  });

  it("the list of a platform admin includes events without an organization", async () => {
    const page = await list(admin);
    expect(page.data.filter(({ orgUuid }) => orgUuid === null)).toHaveLength(1);
    expect(page.total).toBe(3);
    expect((await list(stranger)).data.every(({ orgUuid }) => orgUuid === stranger.orgUuid)).toBe(true);
  });

  it("the list has only authentication events, unlike the complete log", async () => {
    expect((await list(stranger)).total).toBe(0);
    const wider = await identity.authEvents.auditEvents(identity.context(stranger), {
      orgUuid: stranger.orgUuid ?? "",
    });
    expect(wider.data).toMatchObject([
      {
        type: "organization.created",
        actor: { type: "user", id: stranger.userUuid, email: "o@other.test" },
        resourceType: "organization",
        resourceId: stranger.orgUuid,
      },
    ]);
  });

  it.each([
    ["type", { type: "login.password" }, 3],
    ["type without events", { type: "login.saml" }, 0],
    ["outcome", { outcome: "failure" }, 2],
    ["page", { limit: 1, offset: 1 }, 3],
    ["empty values", { type: "", outcome: "", from: "", to: "", orgUuid: "", userUuid: "" }, 3],
  ])("filters by %s", async (_what, query, total) => {
    expect((await list(admin, query)).total).toBe(total);
  });

  it("the list filters by person and returns 404 for a person outside the organization", async () => {
    expect((await list(admin, { userUuid: admin.userUuid })).total).toBe(2);
    await expect(list(admin, { userUuid: randomUUID() })).rejects.toMatchObject(none);
    await expect(list(stranger, { userUuid: admin.userUuid })).rejects.toMatchObject(none);
  });

  it("the list filters by time, from inclusive and to exclusive", async () => {
    const [newest, , oldest] = (await list(admin)).data.map(({ createdAt }) => createdAt.toISOString());
    const sizes = async (query: object): Promise<number[]> => {
      const { data, total } = await list(admin, query);
      return [data.length, total];
    };
    expect(await sizes({ from: newest })).toEqual([2, 2]);
    expect(await sizes({ to: newest })).toEqual([1, 1]);
    expect(await sizes({ from: oldest, to: oldest })).toEqual([0, 0]);
    expect(await sizes({ from: "2020-01-01", to: "2020-01-02T00:00:00+01:00" })).toEqual([0, 0]);
  });

  it("the list filters exactly by times with microseconds", async () => {
    const at = (await list(admin)).data[0]?.createdAt.toISOString().slice(0, -1) ?? "";
    const total = async (query: object) => (await list(admin, query)).total;
    expect([await total({ from: `${at}000001Z` }), await total({ from: `${at}000Z` })]).toEqual([0, 2]);
    expect([await total({ to: `${at}000001Z` }), await total({ to: `${at}000Z` })]).toEqual([3, 1]);
  });

  it.each([
    ["2026-02-30", undefined],
    ["yesterday", undefined],
    [undefined, "2026-13-01"],
    ["2026-01-02", "2026-01-01"],
    ["2026-01-01T25:00:00Z", undefined],
  ])("refuses the range %s to %s", async (from, to) => {
    await expect(list(admin, { from, to })).rejects.toMatchObject({ status: 400, code: "invalid_date_range" });
  });

  it("the list refuses unknown types and those of the complete log", async () => {
    for (const type of ["nope", "organization.created"])
      await expect(list(admin, { type })).rejects.toMatchObject({ status: 400, code: "invalid_type" });
  });

  it("only platform admins list events of other organizations", async () => {
    await expect(list(stranger, { orgUuid: admin.orgUuid })).rejects.toMatchObject(none);
    await expect(list(stranger, { orgUuid: randomUUID() })).rejects.toMatchObject(none);
    await expect(list(admin, { orgUuid: randomUUID() })).rejects.toMatchObject(none);
    await expect(list(admin, { orgUuid: stranger.orgUuid })).resolves.toMatchObject({ total: 0 });
  });
});

describe("a single event", () => {
  it("a single event is returned to its organization only", async () => {
    const [event] = (await list(admin)).data;
    expect(await identity.authEvents.authEvent(identity.context(admin), event?.eventId ?? "")).toEqual(event);
    await expect(identity.authEvents.authEvent(identity.context(stranger), event?.eventId ?? "")).rejects.toMatchObject(
      none,
    );
    await expect(identity.authEvents.authEvent(identity.context(stranger), randomUUID())).rejects.toMatchObject(none);
  });

  it("an administrative event of the complete log is no authentication event", async () => {
    const orgUuid = stranger.orgUuid ?? "";
    const { data } = await identity.authEvents.auditEvents(identity.context(stranger), { orgUuid });
    const eventId = data.find(({ type }) => type === "organization.created")?.eventId ?? "";
    await expect(identity.authEvents.authEvent(identity.context(stranger), eventId)).rejects.toMatchObject(none);
  });
});

describe("the table", () => {
  it.each([
    "update audit_events set type = 'x'",
    "delete from audit_events",
    "truncate audit_events",
    "update auth_events set type = 'x'",
    "delete from auth_events",
  ])("refuses the application: %s", async (statement) => {
    await expect(identity.sql(statement)).rejects.toMatchObject({ code: "42501" });
  });

  it("a recorded failure remains when the work it refused is rolled back", async () => {
    const before = (await list(admin, { outcome: "failure" })).total;
    const nobody = { actor: null, userUuid: null, info };
    const work = identity.database
      .transaction(async (tx) => {
        await identity.events.emit(tx, EVENTS["login.password"], { by: nobody, orgUuid: null });
        throw new Error("refused");
      })
      .catch(async (error: unknown) => {
        await identity.events.recordFailure(EVENTS["login.password"], { by: nobody, orgUuid: null });
        throw error;
      });
    await expect(work).rejects.toThrow("refused");
    expect((await list(admin, { outcome: "failure" })).total).toBe(before + 1);
  });
});
