import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";

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
