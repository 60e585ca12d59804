import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let employee: Somebody;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  employee = await member(app, owner);
});
afterAll(() => app.close());

it.each(["4294967296", "99999999999", "-1", "007", "99999999999999999999", "x"])(
  "the role id %s is refused before the caller's role and the body",
  async (id) => {
    const path = `/api/roles/${id}/permissions`;
    for (const sent of [
      { token: employee.token, body: { permissions: ["users:read"] } },
      { token: owner.token, body: "permissions", headers: { "content-type": "text/plain" } },
      { token: owner.token, body: "x".repeat(2 * 1024 * 1024) },
      { token: owner.token, body: {} },
    ]) {
      const answer = await app.call("PUT", path, sent);
      expect(outcome(answer)).toBe("400 validation_error");
      expect(answer.body.errors).toMatchObject([{ field: "role_id" }]);
    }
  },
);

it("the greatest number that a role id can be is looked for", async () => {
  const body = { permissions: [] };
  expect(outcome(await app.call("PUT", "/api/roles/4294967295/permissions", { token: owner.token, body }))).toBe(
    "404 role_not_found",
  );
});
