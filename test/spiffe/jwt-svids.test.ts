import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import type { JWK } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { auditOf, member } from "../support/people.ts";
import { issue as issueX509, workloads } from "./support.ts";
import type { Workloads } from "./support.ts";

let app: TestApp;
let owner: Workloads;
beforeAll(async () => {
  app = await startApp();
  owner = await workloads(app);
});
afterAll(() => app.close());

const issue = (body: Record<string, unknown>, token: string | undefined = owner.elevated): Promise<Answer> =>
  app.call("POST", "/api/auth/spiffe/jwt-svid", { token, body });

/** Verifies as a consumer of the public bundle does. */
async function verify(svid: string, audience: string) {
  const { body } = await app.call("GET", `/orgs/${owner.org}/.well-known/spiffe-bundle`);
  const keys = (body.keys as (JWK & { use: string })[])
    .filter(({ use }) => use === "jwt-svid")
    // jose selects keys of use `sig`; the bundle has the use that SPIFFE prescribes.
    .map(({ use: _, ...key }) => key);
  return jwtVerify(svid, createLocalJWKSet({ keys }), {
    audience,
    algorithms: ["ES256"],
    currentDate: new Date(app.clock.now()),
  });
}

describe("a JWT-SVID", () => {
  test("a stock library verifies a JWT-SVID against the public bundle", async () => {
    const { status, body, headers } = await issue({
      identity_id: owner.identityId,
      audience: ["spiffe://other.test/api", "billing"],
      ttl_seconds: 60,
    });
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body.spiffe_id).toBe(`${owner.domain}/svc/${owner.identityId}`);
    const { payload, protectedHeader } = await verify(body.svid as string, "billing");
    const now = Math.floor(app.clock.now() / 1_000);
    expect(payload).toEqual({
      sub: body.spiffe_id as string,
      aud: ["spiffe://other.test/api", "billing"],
      iat: now,
      exp: now + 60,
    });
    expect(protectedHeader).toEqual({ alg: "ES256", typ: "JWT", kid: expect.any(String) as string });
    expect(Date.parse(body.expires_at as string)).toBe((now + 60) * 1_000);
    await expect(verify(body.svid as string, "another audience")).rejects.toThrow();
  });

  test("a JWT-SVID is valid for 300 seconds by default, and for no one else's bundle", async () => {
    const { body } = await issue({ identity_id: owner.identityId, audience: ["api"] });
    const { payload } = await verify(body.svid as string, "api");
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(300);
    const other = await workloads(app);
    const theirs = (await app.call("GET", `/orgs/${other.org}/.well-known/spiffe-bundle`)).body.keys[1];
    expect(theirs.kid).not.toBe(decodeProtectedHeader(body.svid as string).kid);
  });

  test("a JWT-SVID is in the audit log and, having no svid_id, is not sent to webhooks", async () => {
    const by = await workloads(app);
    const { body: webhook } = await app.call("POST", "/api/v2/webhooks", {
      token: by.token,
      body: { url: "http://127.0.0.1:9/", events: ["svid.issued"] },
    });
    expect((await issue({ identity_id: by.identityId, audience: ["api"] }, by.elevated)).status).toBe(200);
    expect((await issueX509(app, by)).status).toBe(201);
    const events = await auditOf(app, by, "svid.issued");
    expect(events.map(({ metadata }) => metadata["kind"]).sort()).toEqual(["jwt", "x509"]);
    const path = `/api/v2/webhooks/${webhook.webhook_id as string}/deliveries`;
    expect((await app.call("GET", path, { token: by.token })).body).toMatchObject({
      total: 1,
      data: [{ event_type: "svid.issued" }],
    });
  });

  test("a JWT-SVID is never a bearer here", async () => {
    const { body } = await issue({ identity_id: owner.identityId, audience: ["http://atrium.test", owner.org] });
    for (const path of ["/api/auth/me", "/api/auth/spiffe/trust-bundle", "/api/auth/sessions"])
      expect(await app.call("GET", path, { token: body.svid as string })).toMatchObject({
        status: 401,
        body: { code: "unauthorized" },
      });
    expect(await issue({ audience: ["x"] }, body.svid as string)).toMatchObject({ status: 401 });
  });

  test("wrong audiences, lifetimes and identities are refused as the contract says", async () => {
    const identity = { identity_id: owner.identityId };
    const refused: Record<string, unknown>[] = [
      { ...identity },
      { ...identity, audience: [] },
      { ...identity, audience: [""] },
      { ...identity, audience: "api" },
      { ...identity, audience: Array.from({ length: 11 }, (_, n) => `a${n}`) },
      { ...identity, audience: ["api"], ttl_seconds: 59 },
      { ...identity, audience: ["api"], ttl_seconds: 3_601 },
      { identity_id: "no-uuid", audience: ["api"] },
      { audience: ["api"] },
    ];
    for (const body of refused)
      expect(await issue(body), JSON.stringify(body)).toMatchObject({
        status: 400,
        body: { code: "validation_error" },
      });
    const foreign = await workloads(app);
    expect(await issue({ identity_id: foreign.identityId, audience: ["api"] })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
  });

  test("only elevated administrators obtain a JWT-SVID of another identity, whatever the body says", async () => {
    const employee = await member(app, owner);
    for (const body of [{ identity_id: owner.identityId, audience: ["api"] }, {}]) {
      expect(await issue(body, owner.token)).toMatchObject({ status: 403, body: { code: "step_up_required" } });
      expect(await issue(body, employee.token)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    }
  });
});
