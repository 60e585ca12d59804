import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

const DAY_MS = 86_400_000;

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
beforeEach(async () => {
  owner = await founder(app);
});
afterAll(() => app.close());

const call = async (method: string, path: string, body?: object, token = owner.token) => {
  const answer = await app.call(method, path, { token, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};
const at = (ms: number): string => new Date(app.clock.now() + ms).toISOString();

test("a listed API key has the members of its answer, its visible ends and its last use, and no secret", async () => {
  const path = `/api/admin/organizations/${owner.org}/api-keys`;
  const scopes = ["read:users", "write:apps"];
  const { api_key: key, ...made } = await call("POST", path, { name: "CI", scopes, expires_in_days: 7 });
  expect(made).toEqual({
    key_id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
    name: "CI",
    scopes,
    expires_at: at(7 * DAY_MS),
    created_at: at(0),
  });
  app.clock.advance(60_000);
  await call("GET", "/api/users", undefined, key as string);
  const [listed, ...others] = (await call("GET", path)).data;
  expect(others).toEqual([]);
  const { prefix } = listed as { prefix: string };
  expect(listed).toEqual({ ...made, prefix, last4: key.slice(-4), status: "active", last_used_at: at(0) });
  // It names the key and ends before its secret.
  expect(key.startsWith(prefix)).toBe(true);
  expect(prefix).toMatch(/^atr_dev_[0-9a-f]{8,}/u);
  expect(prefix.length).toBeLessThanOrEqual(`atr_dev_${made.key_id as string}`.length);
});

test("a listed SCIM token has the members of its answer and its last use, and no secret", async () => {
  const path = `/api/admin/organizations/${owner.org}/scim-tokens`;
  const { token, ...made } = await call("POST", path, { name: "IdP", expires_in_days: 7 });
  expect(made).toEqual({
    token_id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
    name: "IdP",
    created_at: at(0),
    expires_at: at(7 * DAY_MS),
  });
  const item = { ...made, status: "active", last_used_at: null };
  expect(await call("GET", path)).toEqual({ data: [item], total: 1, limit: 50, offset: 0 });
  app.clock.advance(60_000);
  await call("GET", `/scim/v2/organizations/${owner.org}/Users`, undefined, token as string);
  expect((await call("GET", path)).data).toEqual([{ ...item, last_used_at: at(0) }]);
});

test("a listed automation token has the members of its answer and its last use, and no secret", async () => {
  const path = `/api/organizations/${owner.org}/service-identities`;
  const { identity_id } = await call("POST", path, { name: "worker", role_id: 3 });
  const wish = { name: "nightly", identity_id, expires_in: 7_776_000 };
  const { token, ...made } = await call("POST", `${path}/automation-token`, wish);
  expect(made).toEqual({
    token_id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
    name: "nightly",
    expires_at: at(90 * DAY_MS),
  });
  const item = { ...made, identity_id, status: "active", created_at: at(0) };
  app.clock.advance(60_000);
  await call("GET", "/api/auth/me", undefined, token as string);
  const list = `${path}/automation-tokens`;
  expect((await call("GET", list)).data).toEqual([{ ...item, last_used_at: at(0) }]);
  await call("DELETE", `${list}/${made.token_id as string}`);
  expect((await call("GET", list)).data).toEqual([{ ...item, status: "revoked", last_used_at: at(0) }]);
});
