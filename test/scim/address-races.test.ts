import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder } from "../support/people.ts";
import { directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
});
afterAll(() => app.close());

test("a change to an address that gets an account at the same time returns 409 uniqueness", async () => {
  const [userName, taken] = [`race-${randomUUID()}@scim.test`, `taken-${randomUUID()}@scim.test`];
  const user = await directory.user({ userName });
  const held = await holding(app.databaseUrl);
  const account = `insert into people (uuid, email, email_key, created_at, updated_at)
    values ($1, $2, $2, now(), now())`;
  await held.run(account, [randomUUID(), taken]);
  const change = directory.patch(`/Users/${user.id}`, { op: "add", path: "emails", value: [{ value: taken }] });
  await held.waitedFor();
  await held.commit();
  expect(refusal(await change)).toBe("409 uniqueness conflict");
  expect((await directory.call("GET", `/Users/${user.id}`)).body).toEqual(user);
});
