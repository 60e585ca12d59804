import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { identity, issue, OpenSsl, rootOf, workloads } from "./support.ts";
import type { Workloads } from "./support.ts";

let app: TestApp;
let second: TestApp;
let owner: Workloads;
const openssl = new OpenSsl();
beforeAll(async () => {
  app = await startApp();
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await workloads(app);
});
afterAll(async () => {
  openssl.close();
  await second.close();
  await app.close();
});

const revoke = (svidId: string, token = owner.token) =>
  app.call("DELETE", `/api/auth/spiffe/svids/${svidId}`, { token });
const list = (query = "", from = app) =>
  from.call("GET", `/orgs/${owner.org}/.well-known/ca.crl?issuer=spiffe&format=pem${query}`);
const deleteIdentity = (id: string) =>
  app.call("DELETE", `/api/organizations/${owner.org}/service-identities/${id}`, { token: owner.token });
const shown = (pem: string, ...what: string[]): string =>
  openssl.run("crl", "-in", openssl.file("shown.pem", pem), "-noout", ...what);
const numberOf = (pem: string): number => Number(/crlNumber=(\S+)/u.exec(shown(pem, "-crlnumber"))?.[1]);

describe("revoking an SVID", () => {
  test("a revoked SVID is listed as revoked, and a second revocation returns 409", async () => {
    const { svid_id: id } = (await issue(app, owner)).body as { svid_id: string };
    expect(await revoke(id)).toMatchObject({ status: 204, text: "" });
    expect(await revoke(id)).toMatchObject({ status: 409, body: { code: "already_revoked" } });
    const read = (status: string) =>
      app.call("GET", `/api/auth/spiffe/svids?status=${status}&limit=200`, { token: owner.token });
    const row = ((await read("revoked")).body.data as { svid_id: string }[]).find(({ svid_id }) => svid_id === id);
    expect(row).toMatchObject({ status: "revoked", revoked_at: expect.any(String) as string });
    expect(JSON.stringify((await read("active")).body.data)).not.toContain(id);
  });

  test("SVIDs are listed by status to their organization alone, and an identity counts the active ones", async () => {
    const [here, other] = [await workloads(app), await workloads(app)];
    const [active, revoked, expired] = await Promise.all(
      Array.from({ length: 3 }, async () => (await issue(app, here)).body.svid_id as string),
    );
    expect((await issue(app, other)).status).toBe(201);
    expect((await revoke(revoked ?? "", here.token)).status).toBe(204);
    const [begun, ended] = [2_000, 1_000].map((ago) => new Date(app.clock.now() - ago));
    const age = "update svids set not_before = $2, not_after = $3 where svid_id = $1";
    await runSql(app.databaseUrl, age, [expired, begun, ended]);
    const read = async (path: string) => (await app.call("GET", path, { token: here.token })).body;
    const ids = async (query: string): Promise<string[]> =>
      (await read(`/api/auth/spiffe/svids${query}`)).data.map(({ svid_id: id }: { svid_id: string }) => id);
    expect(await ids("?status=active")).toEqual([active]);
    expect(await ids("?status=revoked")).toEqual([revoked]);
    expect(await ids("?status=expired")).toEqual([expired]);
    expect((await ids("")).toSorted()).toEqual([active, revoked, expired].toSorted());
    expect(await read(`/api/organizations/${here.org}/service-identities/${here.identityId}`)).toMatchObject({
      svid_count: 1,
      svids: [{ svid_id: active }],
    });
  });

  test("of concurrent revocations of one SVID exactly one succeeds", async () => {
    const { svid_id: id } = (await issue(app, owner)).body as { svid_id: string };
    const answers = await Promise.all(Array.from({ length: 8 }, () => revoke(id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array<number>(7).fill(409)]);
    const events = await runSql(
      app.databaseUrl,
      "select 1 as one from audit_events where type = 'svid.revoked' and resource_id = $1",
      [id],
    );
    expect(events).toHaveLength(1);
  });

  test("unknown SVIDs and those of other organizations are the same 404", async () => {
    const { svid_id: id } = (await issue(app, owner)).body as { svid_id: string };
    const other = await founder(app);
    const [foreign, unknown] = [await revoke(id, other.token), await revoke(other.userUuid, other.token)];
    expect(foreign).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(foreign.body.message).toBe(unknown.body.message);
    expect(await revoke("no-uuid")).toMatchObject({ status: 400, body: { code: "invalid_uuid" } });
  });

  test("an identity that is deleted while SVIDs are issued to it keeps none that is active", async () => {
    for (let round = 0; round < 5; round++) {
      const identityId = await identity(app, owner);
      const [, ...issued] = await Promise.all([
        deleteIdentity(identityId),
        ...Array.from({ length: 4 }, () => issue(app, { ...owner, identityId })),
      ]);
      expect(issued.every(({ status }) => status === 201 || status === 404)).toBe(true);
      const rows = await runSql<{ active: number }>(
        app.databaseUrl,
        "select count(*)::int as active from svids where identity_id = $1 and revoked_at is null",
        [identityId],
      );
      expect(rows[0]?.active).toBe(0);
      expect((await issue(app, { ...owner, identityId })).status).toBe(404);
    }
  });
});

describe("the revocation list of the SPIFFE root", () => {
  test("openssl verifies the list, refuses a revoked SVID by it, and accepts one that is not", async () => {
    const [revoked, valid] = [await issue(app, owner), await issue(app, owner)];
    await revoke(revoked.body.svid_id as string);
    const ca = openssl.file("ca.pem", (await rootOf(app, owner.org)).toString());
    const crl = openssl.file("crl.pem", (await list()).text);
    expect(openssl.run("crl", "-in", crl, "-CAfile", ca, "-noout")).toContain("verify OK");
    const check = (pem: string): string =>
      openssl.run("verify", "-x509_strict", "-crl_check", "-CAfile", ca, "-CRLfile", crl, openssl.file("l.pem", pem));
    expect(check(revoked.body.certificate_pem as string)).toContain("certificate revoked");
    expect(check(valid.body.certificate_pem as string)).toContain("OK");
  });

  test("a revocation is on the list of every instance with the next request, under a higher number", async () => {
    for (let round = 0; round < 5; round++) {
      const { svid_id: id, serial } = (await issue(app, owner)).body as { svid_id: string; serial: string };
      const before = await list();
      expect(shown(before.text, "-text")).not.toContain(serial.toUpperCase());
      await revoke(id);
      const [here, there] = await Promise.all([list("", app), list("", second)]);
      for (const { text } of [here, there]) {
        expect(shown(text, "-text")).toContain(serial.toUpperCase());
        expect(numberOf(text)).toBeGreaterThan(numberOf(before.text));
      }
      expect(here.text).toBe(there.text);
    }
  });

  test("the SVIDs of a deleted identity are on the list", async () => {
    const identityId = await identity(app, owner);
    const { serial } = (await issue(app, { ...owner, identityId })).body as { serial: string };
    await list();
    expect((await deleteIdentity(identityId)).status).toBe(204);
    expect(shown((await list()).text, "-text")).toContain(serial.toUpperCase());
  });

  test("an unchanged list stays the same, with an entity tag, until it is renewed after half its life", async () => {
    const first = await list();
    const etag = first.headers.get("etag") ?? "";
    expect(
      await app.call("GET", `/orgs/${owner.org}/.well-known/ca.crl?issuer=spiffe&format=pem`, {
        headers: { "if-none-match": etag },
      }),
    ).toMatchObject({ status: 304 });
    const [, from = "", to = ""] =
      /lastUpdate=(.*)\s+nextUpdate=(.*)/u.exec(shown(first.text, "-lastupdate", "-nextupdate")) ?? [];
    expect(Date.parse(to) - Date.parse(from)).toBe(86_400_000);
    app.clock.advance(12 * 3_600_000);
    const renewed = await list();
    expect(numberOf(renewed.text)).toBe(numberOf(first.text) + 1);
    owner = { ...owner, token: await again(owner.email) };
  });

  test("DER is the default, and unknown formats, issuers and organizations are refused", async () => {
    const at = (query: string, org = owner.org) => app.call("GET", `/orgs/${org}/.well-known/ca.crl${query}`);
    const der = await fetch(`${app.url}/orgs/${owner.org}/.well-known/ca.crl?issuer=spiffe`);
    expect(der.headers.get("content-type")).toBe("application/pkix-crl");
    const path = openssl.file("crl.der", new Uint8Array(await der.arrayBuffer()));
    expect(openssl.run("crl", "-inform", "DER", "-in", path)).toBe((await list()).text);
    for (const query of ["?issuer=other", "?issuer=spiffe&format=xml"])
      expect(await at(query)).toMatchObject({ status: 400, body: { code: "validation_error" } });
    expect(await at("?issuer=spiffe", owner.userUuid)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(await at("")).toMatchObject({ status: 404, body: { code: "not_found" } });
  });

  test("a list of an organization that never revoked anything is empty and valid", async () => {
    const fresh = await founder(app);
    const { text } = await app.call("GET", `/orgs/${fresh.org}/.well-known/ca.crl?issuer=spiffe&format=pem`);
    expect(shown(text, "-text")).toContain("No Revoked Certificates");
    const ca = openssl.file("fresh.pem", (await rootOf(app, fresh.org)).toString());
    expect(openssl.run("crl", "-in", openssl.file("fresh.crl", text), "-CAfile", ca, "-noout")).toContain("verify OK");
  });
});

async function again(email: string): Promise<string> {
  const { body } = await app.call("POST", "/api/auth/login", { body: { email, password: "a long enough one" } });
  return body.access_token as string;
}
