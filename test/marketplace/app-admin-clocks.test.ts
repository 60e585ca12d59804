import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { clockAhead } from "../support/clock.ts";
import { founder, member, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { appPath, must, publish } from "./stage.ts";

let app: TestApp;
let ahead: TestApp;
let owner: Somebody;
let someone: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, clock: systemClock });
  ahead = await startApp({ databaseUrl: app.databaseUrl, clock: clockAhead(2_000) });
  owner = await founder(app);
  someone = await member(app, owner);
});
afterAll(async () => {
  await ahead.close();
  await app.close();
});

const isAdmin = async (appId: string, token: string): Promise<boolean> =>
  must(await app.call("GET", appPath(appId, "/access"), { token })).is_app_admin;

it("rotating an app's key invalidates the claims of a token whose instance is two seconds ahead", async () => {
  const { appId } = await publish(app, owner.token);
  const { token } = owner;
  must(await app.call("POST", appPath(appId, "/admins"), { token, body: { user_uuid: someone.userUuid } }));
  const claims = await ahead.login(someone.email, password, someone.orgName);
  expect(await isAdmin(appId, claims)).toBe(true);
  must(await app.call("DELETE", appPath(appId, `/admins/${someone.userUuid}`), { token }));
  must(await app.call("POST", appPath(appId, "/signing-key/rotate"), { token, body: {} }));
  expect(await isAdmin(appId, claims)).toBe(false);
});

it("the creator of an app administers it with a token whose instance is two seconds ahead", async () => {
  const token = await ahead.login(someone.email, password, someone.orgName);
  const { appId } = await publish(app, token);
  expect(await isAdmin(appId, token)).toBe(true);
});
