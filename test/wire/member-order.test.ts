import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { authorityOf } from "../mtls-ca/support.ts";
import { directoryOf } from "../scim/support.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

type Post = (body: object, headers: Record<string, string>) => Promise<Answer>;

/** Sends two bodies and a third one that differs in its values, all with the same key. */
async function threeTimes(post: Post, first: object, second: object, other: object): Promise<void> {
  const headers = { "idempotency-key": randomUUID() };
  const created = await post(first, headers);
  expect([created.status, created.headers.get("idempotent-replayed")]).toEqual([201, null]);
  const again = await post(second, headers);
  expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
  expect(again.body).toEqual(created.body);
  expect((await post(other, headers)).status).toBe(422);
}

it("an Idempotency-Key returns the first response when the entries of a map come in another order", async () => {
  const ca = authorityOf(app, owner);
  expect((await ca.create()).status).toBe(201);
  await threeTimes(
    (body, headers) => ca.issue(body, headers),
    { metadata: { a: "1", b: "2", c: "3" } },
    { metadata: { c: "3", a: "1", b: "2" } },
    { metadata: { a: "2", b: "1", c: "3" } },
  );
});

it("an Idempotency-Key returns the first response when members of a SCIM resource come in another order", async () => {
  const directory = await directoryOf(app, owner);
  const emails = [{ value: "ann@scim.test", type: "work" }];
  await threeTimes(
    (body, headers) => directory.call("POST", "/Users", body, headers),
    { userName: "ann@scim.test", name: { givenName: "Ann", familyName: "Lee" }, emails },
    {
      emails: [{ type: "work", value: "ann@scim.test" }],
      name: { familyName: "Lee", givenName: "Ann" },
      userName: "ann@scim.test",
    },
    { userName: "ann@scim.test", name: { givenName: "Lee", familyName: "Ann" }, emails },
  );
});
