import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let employee: Somebody;
let platform: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  employee = await member(app, owner);
  platform = await app.login();
});
afterAll(() => app.close());

describe("An organization named in a query", () => {
  const events = (token: string, org: string) => app.call("GET", `/api/auth/events?org_uuid=${org}`, { token });

  it("a query with an org_uuid that is no UUID returns a field error to authorized callers", async () => {
    for (const token of [owner.token, platform]) {
      expect(await events(token, "x")).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field: "org_uuid", code: "format" }] },
      });
    }
    expect(outcome(await events(employee.token, "x"))).toBe("403 forbidden");
    const connect = await app.call("POST", "/atrium.auth_events.v1.AuthEventsService/ListAuthEvents", {
      token: owner.token,
      body: { org_uuid: "x" },
    });
    expect([connect.status, connect.body.details[0].debug.reason]).toEqual([400, "VALIDATION_ERROR"]);
  });

  it("a query with an unknown or foreign org_uuid returns 404, and one with the own org_uuid succeeds", async () => {
    const other = await founder(app);
    for (const org of [other.org, "0b1d2a3e-aaaa-4000-8000-00000000000f"])
      expect(outcome(await events(owner.token, org))).toBe("404 not_found");
    expect(outcome(await events(owner.token, owner.org.toUpperCase()))).toBe("200");
  });

  it("a foreign org_uuid in a query returns 404 to callers without power too, over every protocol", async () => {
    const { token } = employee;
    const foreign = (await founder(app)).org;
    for (const query of [`org_uuid=${foreign}`, `orgUuid=${foreign}`, `limit=1&org%5fuuid=${foreign.toUpperCase()}`])
      expect(outcome(await app.call("GET", `/api/auth/events?${query}`, { token })), query).toBe("404 not_found");
    for (const query of ["", "?org_uuid=", `?org_uuid=${owner.org}`])
      expect(outcome(await app.call("GET", `/api/auth/events${query}`, { token })), query).toBe("403 forbidden");
    const connect = await app.call("POST", "/atrium.auth_events.v1.AuthEventsService/ListAuthEvents", {
      token,
      body: { org_uuid: foreign },
    });
    expect([connect.status, connect.body.details[0].debug.reason]).toEqual([404, "NOT_FOUND"]);
    expect(outcome(await events(platform, foreign))).toBe("200");
  });
});

describe("The permissions of a role", () => {
  it("permissions of a role are replaced by a given list and never emptied by mistake", async () => {
    const made = await app.call("POST", "/api/v2/products/p/roles", {
      token: owner.token,
      body: { name: "Auditor", permissions: [{ id: 1 }, { id: 2 }] },
    });
    const path = `/api/roles/${made.body.data.id}/permissions`;
    const ids = async () =>
      ((await app.call("GET", path, { token: owner.token })).body.data as { id: number }[]).map(({ id }) => id);
    for (const body of [{}, { permissions: null }, { permission: [1] }]) {
      expect(await app.call("PUT", path, { token: owner.token, body }), JSON.stringify(body)).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field: "permissions", code: "required" }] },
      });
    }
    expect(await ids()).toEqual([1, 2]);
    expect((await app.call("PUT", path, { token: owner.token, body: { permissions: [] } })).status).toBe(200);
    expect(await ids()).toEqual([]);
  });
});

it.each([
  [
    "an unknown app",
    "marketplace.v1.BuyerService/GetApp?connect=v1&encoding=json&message=%7B%22slug%22%3A%22none%22%7D",
    404,
  ],
  ["a compression", "access.v1.AccessService/GetMe?connect=v1&encoding=json&compression=br&message=%7B%7D", 501],
  ["an encoding", "access.v1.AccessService/GetMe?connect=v1&encoding=xml&message=%7B%7D", 415],
  ["the method", "login.v1.LoginService/Login?connect=v1&encoding=json&message=%7B%7D", 405],
])("a Connect GET that is refused for %s is kept by no cache, as over REST", async (_what, url, status) => {
  const answer = await app.call("GET", `/atrium.${url}`, { token: owner.token });
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([status, "no-store"]);
});
