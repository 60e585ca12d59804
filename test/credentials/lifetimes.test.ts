import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { signIn } from "../sessions/support.ts";

const DAY_MS = 86_400_000;

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const pathOf = (by: Somebody, kind: string, rest = ""): string => `/api/admin/organizations/${by.org}/${kind}${rest}`;
const make = (by: Somebody, kind: string, days?: number) =>
  app.call("POST", pathOf(by, kind), {
    token: by.token,
    body: {
      name: "ci",
      ...(kind === "api-keys" ? { scopes: ["read:users"] } : {}),
      ...(days === undefined ? {} : { expires_in_days: days }),
    },
  });

test.each(["api-keys", "scim-tokens"])("%s are valid for 365 days by default, and for 1 to 730", async (kind) => {
  const by = await founder(app);
  for (const [days, valid] of [
    [undefined, 365],
    [1, 1],
    [730, 730],
  ] as const) {
    const { body } = await make(by, kind, days);
    expect(Date.parse(body.expires_at as string) - app.clock.now()).toBe(valid * DAY_MS);
  }
  for (const days of [0, 731]) expect(outcome(await make(by, kind, days))).toBe("400 validation_error");
});

test.each([
  ["api-keys", "key_id"],
  ["scim-tokens", "token_id"],
])("%s are listed as revoked for 30 days after their revocation, and as expired without one", async (kind, id) => {
  const by = await founder(app);
  const [revoked, expired] = [(await make(by, kind)).body[id] as string, (await make(by, kind, 1)).body[id] as string];
  await app.call("DELETE", pathOf(by, kind, `/${revoked}`), { token: by.token });
  const listed = async () => {
    const { token } = await signIn(app, by);
    const { data } = (await app.call("GET", pathOf(by, kind), { token })).body;
    return Object.fromEntries((data as Record<string, string>[]).map((row) => [row[id], row["status"]]));
  };
  expect(await listed()).toEqual({ [revoked]: "revoked", [expired]: "active" });
  app.clock.advance(DAY_MS);
  expect(await listed()).toEqual({ [revoked]: "revoked", [expired]: "expired" });
  app.clock.advance(29 * DAY_MS - 1);
  expect(await listed()).toEqual({ [revoked]: "revoked", [expired]: "expired" });
  app.clock.advance(1);
  expect(await listed()).toEqual({ [expired]: "expired" });
});
