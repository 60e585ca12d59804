import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { done, publishApp } from "../matrix/world.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let owner: Somebody;
let employee: Somebody;
let colleague: Somebody;
let ofApp: Record<string, string>;
let ofOrganization: Record<string, string>;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
beforeEach(async () => {
  owner = await founder(app);
  [employee, colleague] = [await member(app, owner, 3), await member(app, owner, 3)];
  const { appId } = await publishApp(app, employee.token);
  ofApp = await made(employee, { scope: "app", app_id: appId });
  ofOrganization = await made(owner);
});
afterAll(() => app.close());

/** A webhook with a delivery that has failed. */
async function made(by: Somebody, more: object = {}): Promise<Record<string, string>> {
  const body = { url: "http://127.0.0.1:9/", events: ["*"], ...more };
  const { webhook_id = "" } = done(await app.call("POST", "/api/v2/webhooks", { token: by.token, body }));
  const test = await app.call("POST", `/api/v2/webhooks/${webhook_id}/test`, { token: by.token });
  const { delivery_id = "" } = done(test);
  const fail = "update webhook_deliveries set status = 'failed', next_attempt_at = null where delivery_id = $1";
  await runSql(app.databaseUrl, fail, [delivery_id]);
  return { webhook_id, delivery_id };
}

/** Every route of one webhook, its end last. */
const routes = bindings()
  .filter(({ path }) => path.includes("{webhook_id}"))
  .toSorted((one, other) => Number(one.method === "DELETE") - Number(other.method === "DELETE"));

/** Outcome of a call; of a stream, that of its head. */
async function tried({ method, path, rpc }: Binding, by: Somebody, ids: Record<string, string>): Promise<string> {
  const url = path.replaceAll(/\{(\w+)\}/gu, (_, name: string) => ids[name] ?? "");
  if (rpc.methodKind === "unary")
    return outcome(await app.call(method, url, { token: by.token, ...(method === "PATCH" && { body: {} }) }));
  const over = new AbortController();
  const headers = { authorization: `Bearer ${by.token}` };
  const response = await fetch(app.url + url, { headers, signal: over.signal });
  if (!response.ok) return `${response.status} ${((await response.json()) as { code: string }).code}`;
  over.abort();
  return String(response.status);
}

const named = ({ method, path }: Binding): string => `${method} ${path}`;

it("an app's administrator without the role admin manages its webhooks alone, on every route", async () => {
  expect(routes.map(named)).toContain("POST /api/webhooks/{webhook_id}/rotate-secret");
  expect(routes.length).toBeGreaterThanOrEqual(10);
  const wrong: string[] = [];
  const demand = async (route: Binding, by: Somebody, ids: Record<string, string>, expected: string): Promise<void> => {
    const is = await tried(route, by, ids);
    if (is !== expected) wrong.push(`${named(route)}: ${is} instead of ${expected}`);
  };
  for (const route of routes) {
    await demand(route, colleague, ofApp, "403 forbidden");
    await demand(route, employee, ofOrganization, "404 not_found");
    await demand(route, employee, ofApp, String(route.status));
  }
  expect(wrong).toEqual([]);
});

it("an app's administrator without the role admin lists the webhooks of the app alone", async () => {
  const [published, further] = [await publishApp(app, employee.token), await publishApp(app, owner.token)];
  const { webhook_id } = await made(employee, { scope: "app", app_id: published.appId });
  const theirs = await made(owner, { scope: "app", app_id: further.appId });
  const list = async ({ token }: Somebody): Promise<string[]> =>
    (await app.call("GET", "/api/v2/webhooks", { token })).body.data.map(
      (one: Record<string, string>) => one["webhook_id"],
    );
  expect((await list(employee)).toSorted()).toEqual([webhook_id, ofApp["webhook_id"]].toSorted());
  expect((await list(owner)).toSorted()).toEqual(
    [webhook_id, ofApp["webhook_id"], theirs["webhook_id"], ofOrganization["webhook_id"]].toSorted(),
  );
  const administrator = await member(app, owner, 1);
  expect(await list(administrator)).toEqual([ofOrganization["webhook_id"]]);
  const one = await app.call("GET", `/api/v2/webhooks/${webhook_id}`, { token: administrator.token });
  expect(outcome(one)).toBe("404 not_found");
  const wish = { url: "http://127.0.0.1:9/", events: ["*"], scope: "app", app_id: published.appId };
  const register = async ({ token }: Somebody, body: object = wish): Promise<string> =>
    outcome(await app.call("POST", "/api/v2/webhooks", { token, body }));
  expect(await register(administrator)).toBe("404 app_not_found");
  expect(await register(employee, { ...wish, app_id: further.appId })).toBe("404 app_not_found");
  expect(await register(employee, { url: wish.url, events: ["*"] })).toBe("403 forbidden");
});
