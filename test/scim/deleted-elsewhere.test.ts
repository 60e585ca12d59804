import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { directoryOf, refusal } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

test("a membership of a deleted organization leaves the person SCIM's own: a new address reaches them", async () => {
  const [owner, other] = [await founder(app), await founder(app)];
  const directory = await directoryOf(app, owner);
  const { id } = await directory.user({ userName: "moved@scim.test" });
  const membership = `insert into memberships (org_uuid, user_uuid, role_id, email_key, created_at, updated_at)
    select $1, uuid, 3, email_key, now(), now() from people where uuid = $2`;
  await runSql(app.databaseUrl, membership, [other.org, id]);
  const addressOf = async (): Promise<unknown> =>
    (await runSql(app.databaseUrl, "select email from people where uuid = $1", [id]))[0]?.["email"];
  const move = (email: string) => directory.patch(`/Users/${id}`, { op: "replace", path: "userName", value: email });
  // A living organization has a say too.
  expect(refusal(await move("kept@scim.test"))).toBe("200");
  expect(await addressOf()).toBe("moved@scim.test");

  const token = await elevated(app, other.token);
  const ended = await app.call("DELETE", `/api/organizations/${other.org}`, { token });
  expect(ended.status).toBeLessThan(300);
  expect(refusal(await move("new@scim.test"))).toBe("200");
  expect(await addressOf()).toBe("new@scim.test");
});
