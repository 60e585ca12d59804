import { afterAll, beforeAll, expect, it } from "vitest";
import { apiKey, automationToken, done, platformAdmin, publishApp } from "../matrix/world.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let one: TestApp;
let two: TestApp;
let platform: { token: string };
beforeAll(async () => {
  one = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  two = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, databaseUrl: one.databaseUrl, clock: one.clock });
  platform = await platformAdmin(one);
});
afterAll(async () => {
  await two.close();
  await one.close();
});

/** Tokens of an organization, which the other instance has cached. */
async function cachedTokens(owner: Somebody): Promise<string[]> {
  const { token } = await automationToken(one, owner);
  const tokens = [token, (await apiKey(one, owner, ["admin"])).key];
  await entitlements(tokens);
  await entitlements(tokens);
  return tokens;
}

const entitlements = (tokens: readonly string[]): Promise<string[][]> =>
  Promise.all(
    tokens.map(async (token) => (await two.call("GET", "/api/auth/me", { token })).body.entitlements as string[]),
  );

it("a cached credential shows an install of its organization at once, and while it is active", async () => {
  const owner = await founder(one);
  const tokens = await cachedTokens(owner);
  const { slug } = await publishApp(one, platform.token, platform.token);
  const path = `/api/marketplace/${slug}/install`;
  const { install_id: installId } = done(await one.call("POST", path, { token: owner.token, body: {} }));
  const shown = async () => (await entitlements(tokens)).map((all) => all.includes(`app:${slug}`));
  const become = (status: string) =>
    runSql(one.databaseUrl, "update installs set status = $2 where install_id = $1", [installId, status]);
  expect(await shown()).toEqual([false, false]);
  for (const [status, isShown] of [
    ["active", true],
    ["suspended", false],
    ["active", true],
    ["deprovisioning", false],
  ] as const) {
    await become(status);
    expect(await shown(), status).toEqual([isShown, isShown]);
  }
});

it("a cached credential shows the features that the plan of its organization has now", async () => {
  const owner = await founder(one);
  const { token } = platform;
  const set = async (features: string[]) =>
    done(await one.call("PUT", "/api/admin/plans/cached", { token, body: { name: "Cached", features } }));
  await set(["one"]);
  const body = { plan: "cached" };
  done(await one.call("PATCH", `/api/organizations/${owner.org}`, { token, body }));
  const tokens = await cachedTokens(owner);
  expect(await entitlements(tokens)).toEqual([["one"], ["one"]]);
  await set(["one", "two"]);
  expect(await entitlements(tokens)).toEqual([
    ["one", "two"],
    ["one", "two"],
  ]);
});
