import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../mtls/client.ts";
import type { Connection } from "../mtls/client.ts";
import { issue, workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
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

interface Held {
  who: Workloads;
  svidId: string;
  /** An open connection to the second instance. */
  connection: Connection;
}

/** A workload with an SVID and an open connection to the second instance, which has read what the SVID depends on. */
async function held(): Promise<Held> {
  const who = await workloads(one);
  const { status, body } = await issue(one, who);
  if (status !== 201) throw new Error(`an SVID answered ${status}`);
  const connection = await open(two, {
    cert: body.certificate_pem as string,
    key: body.private_key_pem as string,
  });
  for (let time = 0; time < 3; time++) expect((await connection.get("/api/auth/me")).status).toBe(200);
  return { who, svidId: body.svid_id as string, connection };
}

const identityPath = ({ org, identityId }: Workloads): string =>
  `/api/organizations/${org}/service-identities/${identityId}`;

test("an SVID is a caller of its own type with the role of its identity", async () => {
  const { who, connection } = await held();
  expect((await connection.get("/api/auth/me")).body).toMatchObject({
    user_uuid: null,
    email: null,
    org_uuid: who.org,
    roles: ["employee"],
    app_admin: [],
    platform_admin: false,
    principal: { type: "svid", id: who.identityId },
  });
  for (const path of ["/api/profile", "/api/v1/me/mfa/factors", `/api/admin/organizations/${who.org}/api-keys`])
    expect(await connection.get(path)).toMatchObject({ status: 403, body: { code: "forbidden" } });
  const read = await one.call("GET", identityPath(who), { token: who.token });
  expect(Date.parse(read.body.last_auth_at as string)).toBe(one.clock.now());
  expect(read.body).toMatchObject({ svid_count: 1, svids: [{ status: "active" }] });
  connection.close();
});

test("a change of role reaches the next request on a connection that is open", async () => {
  const { who, connection } = await held();
  const list = `/api/organizations/${who.org}/service-identities`;
  expect((await connection.get(list)).status).toBe(403);
  for (const [roleId, status] of [
    [1, 200],
    [2, 403],
  ] as const) {
    const changed = await one.call("PATCH", identityPath(who), { token: who.token, body: { role_id: roleId } });
    expect(changed.status).toBe(200);
    expect((await connection.get(list)).status).toBe(status);
  }
  connection.close();
});

/** Ends of an SVID, each in another way, at the first instance. */
const ends: Record<string, (held: Held) => Promise<Answer>> = {
  "it is revoked": ({ who, svidId }) => one.call("DELETE", `/api/auth/spiffe/svids/${svidId}`, { token: who.elevated }),
  "its identity is deleted": ({ who }) => one.call("DELETE", identityPath(who), { token: who.token }),
  "its organization is deleted": ({ who }) =>
    one.call("DELETE", `/api/organizations/${who.org}`, { token: who.elevated }),
};

test.each(Object.keys(ends))("an SVID is refused on an open connection from the moment %s", async (how) => {
  for (let round = 0; round < 3; round++) {
    const all = await held();
    expect((await ends[how]?.(all))?.status).toBe(204);
    expect([401, "closed"]).toContain((await all.connection.get("/api/auth/me")).status);
    all.connection.close();
  }
});

test("an SVID ends by the clock on a connection that is open", async () => {
  const { connection } = await held();
  one.clock.advance(3_600_000);
  expect([401, "closed"]).toContain((await connection.get("/api/auth/me")).status);
  connection.close();
});

test("the record of an SVID decides: another SPIFFE id than the recorded one is refused", async () => {
  const { svidId, connection } = await held();
  await runSql(one.databaseUrl, "update svids set spiffe_id = spiffe_id || 'x' where svid_id = $1", [svidId]);
  expect((await connection.get("/api/auth/me")).status).toBe(401);
  connection.close();
});
