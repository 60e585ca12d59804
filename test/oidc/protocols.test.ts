import { afterAll, beforeAll, expect } from "vitest";
import { OidcService } from "../../gen/atrium/oidc/v1/oidc_pb.ts";
import { elevated, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { sameLives } from "../support/protocols.ts";
import { REDIRECT, startRealm } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());

interface World extends Somebody {
  employee: string;
  elevated: string;
}

const rpc = OidcService.method;
const NOBODY = "0b1d2a3e-aaaa-4000-8000-00000000000f";

sameLives<World>("OIDC connections", {
  services: [],
  // The others are the redirects of a browser, which no other protocol follows, and what comes after them.
  also: [
    rpc.createConnection,
    rpc.listConnections,
    rpc.getConnection,
    rpc.updateConnection,
    rpc.testConnection,
    rpc.deleteConnection,
  ],
  app: () => realm.app,
  async prepare() {
    const owner = await founder(realm.app);
    const { token } = await member(realm.app, owner);
    return { ...owner, employee: token, elevated: await elevated(realm.app, owner.token) };
  },
  async live({ ok, refused }, { org: orgUuid, token, employee, elevated: stepped }) {
    const [owner, person] = [{ token }, { token: employee }];
    const missing = "404 not_found";
    const invalid = "400 validation_error";
    const list = (...words: string[]) => ({
      values: words.map((value) => ({ kind: { case: "stringValue" as const, value } })),
    });

    const wish = {
      orgUuid,
      name: "Corporate",
      provider: "test",
      clientId: "atrium-client",
      clientSecret: "a-client-secret",
      discoveryUrl: realm.provider.discoveryUrl,
    };
    const full = { ...wish, allowedDomains: ["Corp.TEST", "bücher.test"], redirectUris: [REDIRECT] };
    const { connectionUuid } = await ok(rpc.createConnection, full, owner);
    const plain = await ok(rpc.createConnection, { ...wish, name: "Ärger" }, owner);
    await refused(rpc.createConnection, { ...full, clientSecret: "", discoveryUrl: "ftp://x" }, invalid, owner);
    await refused(rpc.createConnection, { ...full, allowedDomains: ["*.x.test"] }, invalid, owner);
    await refused(rpc.createConnection, { ...full, redirectUris: [REDIRECT, "https://a@b.test"] }, invalid, owner);
    await refused(rpc.createConnection, full, "403 forbidden", person);
    await refused(rpc.createConnection, { ...full, orgUuid: NOBODY }, "404 org_not_found", owner);

    const one = { orgUuid, connectionUuid };
    const none = { orgUuid, connectionUuid: NOBODY };
    await ok(rpc.getConnection, one, owner);
    await refused(rpc.getConnection, none, missing, owner);
    await refused(rpc.getConnection, { orgUuid, connectionUuid: "x" }, "400 invalid_uuid", owner);
    await ok(rpc.listConnections, { orgUuid, sort: "created_at" }, owner);
    await ok(rpc.listConnections, { orgUuid, q: "corp", limit: 1, sort: "-name" }, owner);
    await refused(rpc.listConnections, { orgUuid, limit: 201, sort: "provider" }, invalid, owner);

    await ok(rpc.updateConnection, { ...one, name: "Head office", clientSecret: "another" }, owner);
    await ok(rpc.updateConnection, { ...one, allowedDomains: list(), redirectUris: list() }, owner);
    await ok(rpc.updateConnection, { ...one, allowedDomains: list("corp.test") }, owner);
    await refused(rpc.updateConnection, { ...one, allowedDomains: list("corp.test", "corp") }, invalid, owner);
    await refused(rpc.updateConnection, { ...one, name: "", redirectUris: list("x") }, invalid, owner);
    await refused(rpc.updateConnection, { ...none, name: "x" }, missing, owner);

    const test = await ok(rpc.testConnection, one, { token: stepped });
    expect(test.checks.map(({ ok: fine }) => fine)).toEqual([true, true, true, true, true]);
    await refused(rpc.testConnection, one, "403 step_up_required", owner);
    await refused(rpc.testConnection, none, missing, { token: stepped });

    await ok(rpc.deleteConnection, one, owner);
    await refused(rpc.deleteConnection, one, missing, owner);
    await ok(rpc.deleteConnection, { orgUuid, connectionUuid: plain.connectionUuid }, owner);
    await ok(rpc.listConnections, { orgUuid }, owner);
  },
});
