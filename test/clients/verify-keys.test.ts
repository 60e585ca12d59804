import { afterAll, beforeAll, expect, it } from "vitest";
import { createVerifier, guard } from "../../src/clients/typescript/verify/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { ISSUER } from "./issuer.ts";
import { signedIn } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" }, clock: systemClock });
});
afterAll(() => app.close());

it("a key has the roles and apps of its maker only with the scope admin, and says its scopes", async () => {
  const { atrium } = await signedIn(app);
  const { orgUuid = "" } = await atrium.access.getMe({});
  const token = await app.login();
  const draft = await app.call("POST", "/api/marketplace/apps", {
    token,
    body: draftOf("keys", "http://127.0.0.1:9/"),
  });
  const appAdmin: string = (draft.body.data ?? draft.body).app_id;
  const verifier = createVerifier({ issuer: ISSUER, baseUrl: app.url, introspect: true });
  const statusOf = (requirements: Parameters<typeof guard>[1], credential: string): Promise<number> =>
    guard(verifier, requirements)
      .check(`Bearer ${credential}`)
      .then(
        () => 200,
        ({ status }: { status: number }) => status,
      );
  const statuses: Record<string, number[]> = {};
  for (const scope of ["read:users", "admin"]) {
    const { apiKey } = await atrium.credentials.createApiKey({ orgUuid, name: scope, scopes: [scope] });
    expect((await verifier.verify(apiKey)).scopes).toEqual([scope]);
    statuses[scope] = [
      await statusOf({}, apiKey),
      await statusOf({ roles: ["admin", "manager"] }, apiKey),
      await statusOf({ appAdmin }, apiKey),
    ];
  }
  expect(statuses).toEqual({ "read:users": [200, 403, 403], admin: [200, 200, 200] });
  expect(await statusOf({ roles: ["admin"], appAdmin }, token)).toBe(200);
});

it("an automation token has the role of its identity", async () => {
  const { atrium } = await signedIn(app);
  const { orgUuid = "" } = await atrium.access.getMe({});
  const path = `/api/organizations/${orgUuid}/service-identities`;
  const token = await app.login();
  const identity = await app.call("POST", path, { token, body: { name: "reports", role_id: 2 } });
  const issued = await app.call("POST", `${path}/automation-token`, {
    token,
    body: { name: "reports", identity_id: identity.body.identity_id },
  });
  const verifier = createVerifier({ issuer: ISSUER, baseUrl: app.url, introspect: true });
  const authorization = `Bearer ${issued.body.access_token ?? issued.body.token}`;
  const caller = await guard(verifier, { roles: ["manager"] }).check(authorization);
  expect(caller.roles).toEqual(["manager"]);
  await expect(guard(verifier, { roles: ["admin"] }).check(authorization)).rejects.toMatchObject({ status: 403 });
});
