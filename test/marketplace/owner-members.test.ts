import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, invite, member, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { appPath, must, publish, refreshed } from "./stage.ts";

let app: TestApp;
let admin: string;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp();
  admin = await app.login();
  owner = await founder(app);
});
afterAll(() => app.close());

type Shown = Record<string, unknown> & { app_id: string };

const detail = async (slug: string, token: string): Promise<Shown> =>
  must(await app.call("GET", `/api/marketplace/${slug}`, { token })) as Shown;
const listed = async (appId: string, token: string): Promise<Shown | undefined> =>
  (must(await app.call("GET", "/api/marketplace/apps", { token })).data as Shown[]).find(
    ({ app_id: id }) => id === appId,
  );
/** Which of the members for owners an app shows. */
const owned = (shown: Shown | undefined): string[] =>
  Object.keys(shown ?? {}).filter((name) => ["provision_webhook", "rejection_reason"].includes(name));

it.each([1, 3, 4, 5])("a member with role %i sees no members for owners of their organization's app", async (role) => {
  const { appId, slug } = await publish(app, owner.token);
  const body = { reason: "No screenshots" };
  must(await app.call("POST", `/api/admin/marketplace/apps/${appId}/reject`, { token: admin, body }));
  const { token } = await member(app, owner, role);
  for (const [shown, whole] of [
    [await detail(slug, token), await detail(slug, owner.token)],
    [await listed(appId, token), await listed(appId, owner.token)],
  ]) {
    expect(shown).toMatchObject({ app_id: appId, status: "rejected" });
    expect(owned(shown)).toEqual([]);
    expect(owned(whole)).toEqual(["provision_webhook", "rejection_reason"]);
  }
  expect(owned(await detail(slug, admin))).toEqual(["provision_webhook", "rejection_reason"]);
});

it("a member sees the provision webhook of the apps they administer, their own with the present token", async () => {
  const [other, granted] = [await publish(app, owner.token), await publish(app, owner.token)];
  const maker = await member(app, owner);
  const own = await publish(app, maker.token);
  const body = { user_uuid: maker.userUuid };
  must(await app.call("POST", appPath(granted.appId, "/admins"), { token: owner.token, body }));
  expect(owned(await detail(own.slug, maker.token))).toEqual(["provision_webhook"]);
  expect(owned(await listed(own.appId, maker.token))).toEqual(["provision_webhook"]);
  const token = await refreshed(app, maker);
  expect(owned(await listed(granted.appId, token))).toEqual(["provision_webhook"]);
  expect(owned(await detail(granted.slug, token))).toEqual(["provision_webhook"]);
  expect(owned(await listed(other.appId, token))).toEqual([]);
});

it("a member who is removed goes on administering the apps of another organization", async () => {
  const other = await founder(app);
  const [here, there] = [await publish(app, owner.token), await publish(app, other.token)];
  const someone = await member(app, owner);
  const { token } = await invite(app, other, someone.email);
  must(await app.call("POST", "/api/auth/invite/accept", { body: { token, password } }));
  const admins = ({ appId }: { appId: string }) => appPath(appId, "/admins");
  const body = { user_uuid: someone.userUuid };
  must(await app.call("POST", admins(here), { token: owner.token, body }));
  must(await app.call("POST", admins(there), { token: other.token, body }));
  must(await app.call("DELETE", `/api/users/${someone.userUuid}`, { token: owner.token }));
  const listedBy = async (by: Somebody, of: { appId: string }) =>
    (must(await app.call("GET", admins(of), { token: by.token })).data as { email: string }[]).map(
      ({ email }) => email,
    );
  expect(await listedBy(owner, here)).toEqual([owner.email]);
  expect(await listedBy(other, there)).toEqual([other.email, someone.email]);
});
