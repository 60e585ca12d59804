import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const post = (token: string, key: string, path: string, body: unknown): Promise<Answer> =>
  app.call("POST", path, { token, body, headers: { "idempotency-key": key } });
const template = (token: string, key: string): Promise<Answer> =>
  post(token, key, "/api/templates", { name: "Welcome", category: "email" });

test("an Idempotency-Key counts for one credential, one organization and one rpc", async () => {
  const owner = await founder(app);
  const further = await app.call("POST", "/api/organizations", { token: owner.token, body: { name: "Further" } });
  const key = await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
    token: owner.token,
    body: { name: "ci", scopes: ["admin"] },
  });
  const tokens = [
    owner.token,
    (await member(app, owner, 1)).token,
    further.body.access_token as string,
    key.body.api_key as string,
  ];
  const same = "~".repeat(255);
  const made: string[] = [];
  for (const token of tokens) {
    const first = await template(token, same);
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
    const again = await template(token, same);
    expect([again.body.id, again.headers.get("idempotent-replayed")]).toEqual([first.body.id, "true"]);
    made.push(first.body.id as string);
  }
  expect(new Set(made).size).toBe(tokens.length);
  const variable = await post(owner.token, same, "/api/ops/custom-variables", { key: "name", value: "x" });
  expect([variable.status, variable.headers.get("idempotent-replayed")]).toEqual([201, null]);
});
