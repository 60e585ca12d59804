import { X509Certificate } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bySvid, workload } from "../matrix/workloads.ts";
import { automationToken } from "../matrix/world.ts";
import type { Workload } from "../matrix/workloads.ts";
import { callRest, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, elevated, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let made: Workload;
let other: string;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  // The least powerful role: what an identity gets for itself depends on no role.
  made = await workload(app, owner, 5);
  other = (await automationToken(app, owner, 5)).identityId;
});
afterAll(() => app.close());

const spiffeIdOf = (identityId: string): string => `spiffe://${owner.org}.atrium.local/svc/${identityId}`;

/** An SVID with a SPIFFE id of its own, issued by the owner. */
async function byAdmin(identityId: string, path: string) {
  const answer = await app.call("POST", "/api/auth/spiffe/svid", {
    token: await elevated(app, owner.token),
    body: { service_identity_id: identityId, san_uris: [`spiffe://${owner.org}.atrium.local${path}`] },
  });
  expect(answer.status).toBe(201);
  return answer;
}

describe.each(["automation token", "SVID"])("a service identity with an %s", (kind) => {
  const post = (path: string, body: object) =>
    callRest(app.url, "POST", path, { ...(kind === "SVID" ? bySvid(made) : { token: made.token }), body });

  test("gets an X.509-SVID of its own with which it calls", async () => {
    const { status, body } = await post("/api/auth/spiffe/svid", { service_identity_id: made.identityId });
    expect(status).toBe(201);
    expect(new X509Certificate(body.certificate_pem).subjectAltName).toBe(`URI:${spiffeIdOf(made.identityId)}`);
    const [event] = await auditOf(app, owner, "svid.issued");
    expect(event).toMatchObject({
      resource_id: body.svid_id,
      actor: { type: kind === "SVID" ? "svid" : "automation_token", id: made.identityId, email: null },
    });
  });

  test("gets a JWT-SVID of its own, whether or not it names itself", async () => {
    for (const named of [{}, { identity_id: made.identityId }]) {
      const { status, body } = await post("/api/auth/spiffe/jwt-svid", { ...named, audience: ["reports"] });
      expect([status, body.spiffe_id]).toEqual([200, spiffeIdOf(made.identityId)]);
      expect(decodeJwt(body.svid)).toMatchObject({ sub: spiffeIdOf(made.identityId), aud: ["reports"] });
    }
  });

  test("gets nothing for another identity", async () => {
    const refused = { status: 403, body: { code: "forbidden" } };
    expect(await post("/api/auth/spiffe/svid", { service_identity_id: other })).toMatchObject(refused);
    expect(await post("/api/auth/spiffe/jwt-svid", { identity_id: other, audience: ["a"] })).toMatchObject(refused);
  });

  test("gets another SPIFFE id only while an SVID that an administrator issued to it has that id", async () => {
    const wish = (path: string) =>
      post("/api/auth/spiffe/svid", {
        service_identity_id: made.identityId,
        san_uris: [`spiffe://${owner.org}.atrium.local${path}`],
      });
    const [theirs, own] = [`/theirs/${kind.length}`, `/own/${kind.length}`];
    await byAdmin(other, theirs);
    const { svid_id: svidId } = (await byAdmin(made.identityId, own)).body;
    const refused = { status: 403, body: { code: "forbidden" } };
    expect(await wish(theirs)).toMatchObject(refused);
    expect(await wish("/nobody")).toMatchObject(refused);
    const { status, body } = await wish(own);
    expect([status, body.spiffe_id]).toEqual([201, `spiffe://${owner.org}.atrium.local${own}`]);
    const revoked = await app.call("DELETE", `/api/auth/spiffe/svids/${svidId}`, { token: owner.token });
    expect(revoked.status).toBe(204);
    // What it issued to itself meanwhile does not count.
    expect(await wish(own)).toMatchObject(refused);
    expect((await wish(`/svc/${made.identityId}`)).status).toBe(201);
  });

  test("gets no SPIFFE id of another identity", async () => {
    const wish = { service_identity_id: made.identityId, san_uris: [spiffeIdOf(other)] };
    expect(await post("/api/auth/spiffe/svid", wish)).toMatchObject({
      status: 400,
      body: { code: "validation_error" },
    });
  });
});
