import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import { bySvid, workload } from "../matrix/workloads.ts";
import { forAll, sendRest } from "../matrix/send.ts";
import type { Credential } from "../matrix/send.ts";
import { done } from "../matrix/world.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "on", SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

test("API keys share the rate limit of the person who created them, and of nobody else", async () => {
  const owner = await founder(app);
  const other = await member(app, owner, 1);
  const path = `/api/admin/organizations/${owner.org}/api-keys`;
  const make = async (by: string) =>
    (await app.call("POST", path, { token: by, body: { name: "ci", scopes: ["admin"] } })).body.api_key as string;
  const [first, theirs] = [await make(owner.token), await make(other.token)];
  const child = await make(first);
  const tokens = [owner.token, first, child];
  const read = async (token: string) => (await app.call("GET", "/api/auth/me", { token })).status;
  const answers: number[] = [];
  for (let batch = 0; batch < 32; batch++)
    answers.push(...(await Promise.all(Array.from({ length: 20 }, (_, at) => read(tokens[at % 3] ?? "")))));
  const through = answers.filter((status) => status === 200).length;
  expect(through).toBeGreaterThanOrEqual(590);
  expect(through).toBeLessThanOrEqual(600);
  expect(await Promise.all(tokens.map(read))).toEqual([429, 429, 429]);
  expect([await read(theirs), await read(other.token)]).toEqual([200, 200]);
});

test("tokens, SVIDs and keys of a service identity share its rate limit, and nobody else's", async () => {
  const owner = await founder(app);
  const [one, other] = [await workload(app, owner), await workload(app, owner)];
  const identities = `/api/organizations/${owner.org}/service-identities`;
  const wish = { name: "second", identity_id: one.identityId };
  const second = done(await app.call("POST", `${identities}/automation-token`, { token: owner.token, body: wish }));
  const key = done(
    await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
      token: one.token,
      body: { name: "ci", scopes: ["admin"] },
    }),
  );
  const own: Credential[] = [{ token: one.token }, { token: second["token"] }, { token: key["api_key"] }, bySvid(one)];
  const query = async (by: Credential) => (await sendRest(app.url, "GET", "/api/auth/events", by)).status;
  const callers = Array.from({ length: 60 }, (_, at) => own[at % 3] as Credential);
  const first = await forAll(callers, query, 6);
  expect(new Set(first)).toEqual(new Set([200]));
  expect(await Promise.all(own.map(query))).toEqual([429, 429, 429, 429]);
  expect([await query({ token: other.token }), await query({ token: owner.token })]).toEqual([200, 200]);
});
