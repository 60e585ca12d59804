import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { temporalServer } from "../support/temporal.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock, env: { SERVICE_TTL_KEY_OVERLAP: "2s" } });
});
afterAll(() => app.close());

test("the workflow tells the audit log when a rotated key has ended", async () => {
  const token = await app.login();
  const org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid as string;
  const rotated = await app.call("POST", `/api/admin/organizations/${org}/signing-keys/rotate`, { token: await elevate(app, token) });
  const fresh = await app.login();
  const ended = async () => (await app.call("GET", `/api/organizations/${org}/audit-events?type=signing_key.deleted`, { token: fresh })).body.data;
  for (let attempt = 0; attempt < 200 && (await ended()).length === 0; attempt++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await ended()).toMatchObject([{ metadata: { key_id: rotated.body.previous_key_id, reason: "overlap_ended" }, actor: { type: "system", id: null, email: null } }]);
  expect((await app.call("GET", "/api/auth/me", { token })).status).toBe(401);
}, 30_000);
