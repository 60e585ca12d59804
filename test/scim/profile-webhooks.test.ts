import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { directoryOf } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let owner: Somebody;
let directory: Directory;
let hook: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  directory = await directoryOf(app, owner);
  const body = { url: "https://example.com/hook", events: ["user.updated"] };
  hook = (await app.call("POST", "/api/v2/webhooks", { token: owner.token, body })).body.webhook_id;
});
afterAll(() => app.close());

/** What the webhook has been told, oldest first. */
async function told(): Promise<unknown[]> {
  const path = `/api/v2/webhooks/${hook}/deliveries`;
  const { body } = await app.call("GET", path, { token: owner.token });
  const bodies: { data: unknown }[] = await Promise.all(
    body.data.map(async ({ delivery_id }: { delivery_id: string }) => {
      const one = await app.call("GET", `${path}/${delivery_id}`, { token: owner.token });
      return JSON.parse(one.body.request.body);
    }),
  );
  return bodies.map(({ data }) => data).reverse();
}

it("webhooks are told when SCIM changes the profile of a person it made, and of nobody else", async () => {
  const userName = "ann@scim.test";
  const { id: user_uuid } = await directory.user({ userName, name: { givenName: "Ann", familyName: "Lee" } });
  const patch = async (id: string, value: object) => {
    app.clock.advance(1_000);
    expect((await directory.patch(`/Users/${id}`, { op: "replace", value })).status).toBe(200);
  };
  await patch(user_uuid, { title: "Guide" });
  await patch(user_uuid, { "name.givenName": "Anne" });
  await patch(user_uuid, { "name.givenName": "Anne" });
  await patch(user_uuid, { userName: "anne@scim.test", "name.familyName": "Li" });
  await patch(owner.userUuid, { "name.givenName": "Other" });
  expect(await told()).toEqual([
    { user_uuid, email: userName, changed: ["first_name"] },
    { user_uuid, email: "anne@scim.test", changed: ["last_name", "email"] },
  ]);
});
