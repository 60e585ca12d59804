import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { founder, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { get, open } from "./client.ts";
import type { Connection } from "./client.ts";
import { workload } from "./workload.ts";
import type { Workload } from "./workload.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp();
  second = await startApp({ databaseUrl: app.databaseUrl });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

let owner: Somebody;
let svid: Workload;
let connections: Connection[];
beforeEach(async () => {
  owner = await founder(app);
  svid = await workload(app, owner);
  connections = [await open(app, svid), await open(second, svid)];
  for (const connection of connections) expect((await connection.get("/api/auth/me")).status).toBe(200);
  return () => connections.forEach((connection) => connection.close());
});

const path = () => `/api/organizations/${owner.org}/service-identities/${svid.identityId}`;
const statuses = async (at: string) => Promise.all(connections.map(async (one) => (await one.get(at)).status));

describe("on connections that are already open, on every instance, the next request", () => {
  test("is 401 once the SVID has been revoked", async () => {
    const revoked = await app.call("DELETE", `/api/auth/spiffe/svids/${svid.svidId}`, { token: owner.token });
    expect(revoked.status).toBe(204);
    expect(await statuses("/api/auth/me")).toEqual([401, 401]);
    expect((await get(app, "/api/auth/me", svid)).status).toBe(401);
  });

  test("is 401 once the identity has been deleted", async () => {
    expect((await app.call("DELETE", path(), { token: owner.token })).status).toBe(204);
    expect(await statuses("/api/auth/me")).toEqual([401, 401]);
    for (const instance of [app, second]) expect((await get(instance, "/api/auth/me", svid)).status).toBe(401);
  });

  test("is 401 once the organization has been deleted", async () => {
    const token = await elevate(app, owner.token, password);
    expect((await app.call("DELETE", `/api/organizations/${owner.org}`, { token })).status).toBe(204);
    expect(await statuses("/api/auth/me")).toEqual([401, 401]);
  });

  test("is 401 once the SVID has expired", async () => {
    app.clock.advance(3_601_000);
    expect(await statuses("/api/auth/me")).toEqual([401, 200]);
    app.clock.advance(-3_601_000);
  });

  test("has the power of the role that the identity was given meanwhile", async () => {
    const list = `/api/organizations/${owner.org}/service-identities`;
    expect(await statuses(list)).toEqual([200, 200]);
    const changed = await app.call("PATCH", path(), { token: owner.token, body: { role_id: 4 } });
    expect(changed.status).toBe(200);
    expect(await statuses(list)).toEqual([403, 403]);
    expect((await connections[0]?.get("/api/auth/me"))?.body.roles).toEqual(["observer"]);
  });
});
