import { afterAll, beforeAll, expect, it } from "vitest";
import { directoryOf } from "../scim/support.ts";
import type { Directory } from "../scim/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, invite, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let directory: Directory;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  owner = await founder(app);
  directory = await directoryOf(app, owner);
});
afterAll(() => app.close());

/** A bearer token of a person without a password. */
async function bearerOf(email: string): Promise<string> {
  const sent = await app.call("POST", "/api/auth/magic-link/send", { body: { email } });
  const { body } = await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.body.dev_token } });
  return body.access_token as string;
}

it.each<[string, (userUuid: string) => Promise<unknown>]>([
  ["removed", (id) => app.call("DELETE", `/api/users/${id}`, { token: owner.token })],
  [
    "deactivated, even if they are removed later",
    async (id) => {
      await app.call("PATCH", `/api/users/${id}`, { token: owner.token, body: { status: "inactive" } });
      await app.call("DELETE", `/api/users/${id}`, { token: owner.token });
    },
  ],
  ["deprovisioned by the directory", (id) => directory.call("DELETE", `/Users/${id}`)],
])("an open invitation to somebody who joined by another way does not bring them back once %s", async (what, end) => {
  const email = `${what.slice(0, 8)}@people.test`;
  const { id, token } = await invite(app, owner, email, 1);
  const { id: userUuid, active } = await directory.user({ userName: email });
  expect(active).toBe(true);
  await end(userUuid);
  const bearer = await bearerOf(email);
  expect(outcome(await app.call("POST", "/api/auth/invite/accept", { token: bearer, body: { token } }))).toBe(
    "404 invitation_not_found",
  );
  const { body } = await app.call("GET", `/api/admin/organizations/${owner.org}/invitations`, { token: owner.token });
  expect(body.data.find((one: { invitation_id: string }) => one.invitation_id === id)).toMatchObject({
    status: "withdrawn",
  });
  const [event] = await auditOf(app, owner, "user.invited");
  expect(event).toMatchObject({ resource_id: id, metadata: { email, withdrawn: true } });
});
