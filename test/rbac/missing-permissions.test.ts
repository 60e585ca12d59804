import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let observer: Somebody;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  observer = await member(app, owner, 4);
});
afterAll(() => app.close());

it("a refusal names the permission that is missing", async () => {
  const message = async (method: string, path: string, token: string, body?: object): Promise<unknown> => {
    const answer = await app.call(method, path, { token, body });
    expect(answer.status, path).toBe(403);
    expect(answer.body.code).toBe("forbidden");
    return answer.body.message as unknown;
  };
  expect(await message("GET", `/api/organizations/${owner.org}/audit-events`, observer.token)).toMatch(/\badmin\b/);
  expect(await message("POST", "/api/marketplace/apps", observer.token, {})).toMatch(/\bemployee\b/);
  expect(await message("GET", "/api/admin/marketplace/apps", owner.token)).toMatch(/\bplatform_admin\b/);
  expect(await message("GET", "/api/operator/config", owner.token)).toMatch(/\boperator\b/);
});
