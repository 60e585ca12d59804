import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

/** The largest id that the contract can say; the tables have smaller ones. */
const LARGEST = 4_294_967_295;

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
});
afterAll(() => app.close());

it.each([
  ["DELETE", `/api/ops/custom-variables/${LARGEST}`, undefined],
  ["PUT", `/api/ops/custom-variables/${LARGEST}`, { key: "k", value: "v" }],
  ["DELETE", `/api/admin/pricing/prices/${LARGEST}`, undefined],
  ["POST", "/api/pricing/preview", { price_id: LARGEST }],
  ["POST", "/api/pricing/quote", { price_id: LARGEST }],
  ["GET", `/api/roles/${LARGEST}/permissions`, undefined],
  ["PUT", `/api/roles/${LARGEST}/permissions`, { permissions: [LARGEST] }],
  ["POST", "/api/admin/organizations/{org}/invitations", { email: "a@b.test", role_id: LARGEST }],
  ["POST", "/api/organizations/{org}/service-identities", { name: "w", role_id: LARGEST }],
] as const)("%s %s finds nothing by an id that no table can hold", async (method, path, body) => {
  const { org } = app.owner;
  const { body: me } = await app.call("GET", "/api/auth/me", { token });
  const answer = await app.call(method, path.replace("{org}", String(me.org_uuid ?? org)), { token, body });
  expect([400, 403, 404, 422]).toContain(answer.status);
});
