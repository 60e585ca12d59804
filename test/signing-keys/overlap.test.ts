import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { temporalServer } from "../support/temporal.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_TTL_KEY_OVERLAP: "2s" },
  });
});
afterAll(() => app.close());

test("the workflow records in the audit log that the overlap of a rotated key has ended", async () => {
  const token = await app.login();
  const org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid as string;
  const webhook = await app.call("POST", "/api/v2/webhooks", {
    token,
    body: { url: "http://127.0.0.1:9/", events: ["signing_key.rotated"] },
  });
  const told = async (bearer: string) =>
    (await app.call("GET", `/api/v2/webhooks/${webhook.body.webhook_id}/deliveries`, { token: bearer })).body
      .data as unknown[];
  expect(
    (await app.call("POST", `/api/admin/organizations/${org}/signing-keys`, { token, body: { algorithm: "ed25519" } }))
      .status,
  ).toBe(201);
  const rotated = await app.call("POST", `/api/admin/organizations/${org}/signing-keys/rotate`, {
    token: await elevate(app, token),
  });
  const fresh = await app.login();
  const ended = async () =>
    (await app.call("GET", `/api/organizations/${org}/audit-events?type=signing_key.deleted`, { token: fresh })).body
      .data;
  for (let attempt = 0; attempt < 2_400 && (await ended()).length < 2; attempt++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  // The overlap of the first key ends too, at about the same time.
  expect(await ended()).toContainEqual(
    expect.objectContaining({
      metadata: expect.objectContaining({ key_id: rotated.body.previous_key_id, reason: "overlap_ended" }),
      actor: expect.objectContaining({ type: "system", id: null, email: null }),
    }),
  );
  // Once, at the switch: neither the key that was made nor the ends of overlaps are told of.
  expect(await told(fresh)).toHaveLength(1);
  const { data } = (await app.call("GET", `/api/organizations/${org}/audit-events?type=key.rotated`, { token: fresh }))
    .body;
  expect(data).toMatchObject([{ metadata: { key_id: rotated.body.new_key_id, kind: "signing_key" } }]);
  expect((await app.call("GET", "/api/auth/me", { token })).status).toBe(401);
});
