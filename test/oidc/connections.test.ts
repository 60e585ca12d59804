import { afterAll, beforeAll, expect, it } from "vitest";
import type { Answer } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { auditOf, founder, outcome } from "../support/people.ts";
import { callbackOf, connect, redeem, REDIRECT, sessionTokenOf, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());

const make = (more: Record<string, unknown>): Promise<Answer> =>
  connect(realm.app, realm.owner, realm.provider.discoveryUrl, more);
const send = (method: string, connection: string, body?: unknown): Promise<Answer> => {
  const path = `/api/admin/organizations/${realm.owner.org}/oidc-connections/${connection}`;
  return realm.app.call(method, path, { token: realm.owner.token, ...(body === undefined ? {} : { body }) });
};
const authorize = async (connection: string, query = ""): Promise<string> =>
  outcome(await realm.app.call("GET", `/api/auth/oidc/${connection}/authorize${query}`));

/** Outcome and first faulty field of what creates a connection, and of what changes one. */
async function refusals(members: Record<string, unknown>): Promise<string[]> {
  const answers = [await make(members), await send("PATCH", realm.connection, members)];
  return answers.map((answer) => `${outcome(answer)} ${answer.body?.errors?.[0]?.field}`);
}

it("a connection has the documented members, and its client secret is never returned", async () => {
  const members = [
    "allowed_domains",
    "client_id",
    "connection_uuid",
    "created_at",
    "discovery_url",
    "name",
    "provider",
    "redirect_uri",
    "redirect_uris",
  ];
  const made = await make({});
  const id = made.body.connection_uuid as string;
  const changed = await send("PATCH", id, { name: "Renamed", client_secret: "a-new-client-secret" });
  const [event] = await auditOf(realm.app, realm.owner, "oidc_connection.updated");
  expect(event?.metadata).toEqual({ connection_uuid: id, name: "Renamed", changed: ["name", "client_secret"] });
  const list = await realm.app.call("GET", `/api/admin/organizations/${realm.owner.org}/oidc-connections`, {
    token: realm.owner.token,
  });
  expect(made.status).toBe(201);
  for (const { body, text } of [made, changed, await send("GET", id)]) {
    expect(Object.keys(body as object).sort()).toEqual(members);
    expect(text).not.toContain("client-secret");
  }
  expect(changed.body).toEqual({ ...made.body, name: "Renamed" });
  expect((list.body.data as { connection_uuid: string }[]).find((row) => row.connection_uuid === id)).toEqual(
    changed.body,
  );
  expect(made.body.redirect_uri).toBe(`http://atrium.test/api/auth/oidc/${id}/callback`);
  for (const missing of ["client_secret", "client_id", "discovery_url"])
    expect(outcome(await make({ [missing]: undefined }))).toBe("400 validation_error");
});

it.each([
  "ftp://app.test/",
  "/back",
  "app.test",
  "https://ann:secret@app.test/",
  "https://app.test/#back",
  "https://*.app.test/",
  "https://app.test/a b",
  "javascript:alert(1)",
  "https://app.test\\@evil.test/",
  "https://app.test/\\back",
  "https://app.test/\u0001",
  "https://app.test/\u001f",
  "https://app.test/\u007f",
  "https://app.test/\u0085",
  "https://app.test/\r\nset-cookie:a",
  `https://app.test/${"x".repeat(2_048)}`,
  7,
])("a connection with the redirect URI %j is refused", async (uri) => {
  const fault = "400 validation_error redirect_uris[1]";
  expect(await refusals({ redirect_uris: [REDIRECT, uri] })).toEqual([fault, fault]);
});

it("a connection keeps provider, client and discovery URL, and loses its redirect URIs by an empty list", async () => {
  const made = await make({});
  const id = made.body.connection_uuid as string;
  const fixed = { provider: "other", client_id: "other", discovery_url: "https://other.test/x", allowed_domains: [] };
  const changed = await send("PATCH", id, { ...fixed, redirect_uris: [] });
  expect(changed.body).toEqual({ ...made.body, allowed_domains: [], redirect_uris: [] });
  expect(await authorize(id, `?redirect_uri=${encodeURIComponent(REDIRECT)}`)).toBe("400 validation_error");
  expect(await authorize(id, `?redirect_uri=${encodeURIComponent("http://atrium.test")}`)).toBe("302 undefined");
});

it("a connection has at most twenty redirect URIs", async () => {
  const uris = (many: number) => Array.from({ length: many }, (_, at) => `https://app.test/${at}`);
  expect((await make({ redirect_uris: uris(20) })).body.redirect_uris).toEqual(uris(20));
  const fault = "400 validation_error redirect_uris";
  expect(await refusals({ redirect_uris: uris(21) })).toEqual([fault, fault]);
});

it("a connection has at most a hundred allowed domains", async () => {
  const domains = (many: number) => Array.from({ length: many }, (_, at) => `d${at}.test`);
  expect((await make({ allowed_domains: domains(100) })).body.allowed_domains).toEqual(domains(100));
  const fault = "400 validation_error allowed_domains";
  expect(await refusals({ allowed_domains: domains(101) })).toEqual([fault, fault]);
});

it("an organization has at most twenty connections, and again one when it has deleted one", async () => {
  const { app, provider } = realm;
  const owner = await founder(app);
  const made: Answer[] = [];
  for (let at = 0; at < 21; at++) made.push(await connect(app, owner, provider.discoveryUrl));
  expect(made.map(outcome)).toEqual([...Array<string>(20).fill("201"), "409 conflict"]);
  const path = `/api/admin/organizations/${owner.org}/oidc-connections/${made[0]?.body.connection_uuid}`;
  expect((await app.call("DELETE", path, { token: owner.token })).status).toBe(204);
  const racing = await Promise.all([1, 2, 3].map(() => connect(app, owner, provider.discoveryUrl)));
  expect(racing.map(outcome).sort()).toEqual(["201", "409 conflict", "409 conflict"]);
});

it("an absent redirect_uri means the only one, and a connection without any has the service's own", async () => {
  const id = async (...uris: string[]) => (await make({ redirect_uris: uris })).body.connection_uuid as string;
  const several = await id("https://app.test/one", "https://app.test/two");
  expect(await authorize(several)).toBe("400 validation_error");
  expect(await authorize(several, `?redirect_uri=${encodeURIComponent("https://app.test/two")}`)).toBe("302 undefined");
  expect(await authorize(await id("https://app.test/one"))).toBe("302 undefined");
  const none = await id();
  expect(await authorize(none)).toBe("302 undefined");
  expect(await authorize(none, `?redirect_uri=${encodeURIComponent("http://atrium.test")}`)).toBe("302 undefined");
  expect(await authorize(none, `?redirect_uri=${encodeURIComponent("http://atrium.test/x")}`)).toBe(
    "400 validation_error",
  );
});

it("the domains of a connection are folded and IDNA-encoded, each once, without wildcards", async () => {
  const { body } = await make({ allowed_domains: ["Corp.TEST", "Bücher.test", "corp.test"] });
  expect(body.allowed_domains).toEqual(["corp.test", "xn--bcher-kva.test"]);
  for (const domain of ["*.corp.test", "corp", "corp.test.", "corp.test。", "ann@corp.test", "", 7]) {
    const fault = "400 validation_error allowed_domains[0]";
    expect(await refusals({ allowed_domains: [domain] })).toEqual([fault, fault]);
  }
});

it("a connection of another organization is not found, changed or deleted", async () => {
  const { app, connection } = realm;
  const other = await founder(app);
  const path = `/api/admin/organizations/${other.org}/oidc-connections/${connection}`;
  const before = (await send("GET", connection)).body as unknown;
  for (const [method, body] of [["GET"], ["PATCH", { name: "Taken" }], ["DELETE"]] as const) {
    const answer = await app.call(method, path, { token: other.token, ...(body && { body }) });
    expect([method, outcome(answer)]).toEqual([method, "404 not_found"]);
  }
  expect((await send("GET", connection)).body).toEqual(before);
});

it("a connection with an empty list of domains admits nobody", async () => {
  expect((await send("PATCH", realm.connection, { allowed_domains: [] })).body.allowed_domains).toEqual([]);
  expect(outcome((await callbackOf(realm, subject("nemo"))).answer)).toBe("403 domain_mismatch");
  expect((await send("PATCH", realm.connection, { allowed_domains: ["corp.test"] })).status).toBe(200);
  expect((await callbackOf(realm, subject("nemo"))).answer.status).toBe(302);
});

it("a domain that is removed during a sign-in makes no new member", async () => {
  const { cookie, answer } = await callbackOf(realm, subject("late"));
  expect((await send("PATCH", realm.connection, { allowed_domains: ["other.test"] })).status).toBe(200);
  expect(outcome(await redeem(realm, sessionTokenOf(answer), cookie))).toBe("403 domain_mismatch");
  expect((await send("PATCH", realm.connection, { allowed_domains: ["corp.test"] })).status).toBe(200);
});

it("a connection for an organization that ends meanwhile is refused like one for an unknown organization", async () => {
  const { app, provider } = realm;
  const boss = await founder(app);
  const held = await holding(app.databaseUrl);
  await held.run("update organizations set deleted_at = now() where uuid = $1", [boss.org]);
  const made = connect(app, boss, provider.discoveryUrl);
  await held.waitedFor();
  await held.commit();
  expect(outcome(await made)).toBe("404 org_not_found");
});
