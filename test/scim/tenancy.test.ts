import { afterAll, beforeAll, expect, test } from "vitest";
import { bindings } from "../shape/contract-routes.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { directoryOf, PATCH_URN } from "./support.ts";
import type { Directory } from "./support.ts";

const UNKNOWN = "0b1d2a3e-aaaa-4000-8000-00000000000f";
const routes = bindings().filter(({ auth }) => auth === "scim");

let app: TestApp;
let owner: Somebody;
let mine: Directory;
let theirs: Directory;
let ids: { user: string; group: string };
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  mine = await directoryOf(app, owner);
  theirs = await directoryOf(app, await founder(app));
  const user = (await mine.user({ userName: "tenant@scim.test" })).id as string;
  const group = await mine.call("POST", "/Groups", { displayName: "Tenant", members: [{ value: user }] });
  ids = { user, group: group.body.id as string };
});
afterAll(() => app.close());

/** A body that a route accepts. */
function bodyOf(method: string, path: string): unknown {
  if (path.endsWith("/Bulk")) return { Operations: [] };
  if (path.endsWith("/.search")) return {};
  if (method === "PATCH") return { schemas: [PATCH_URN], Operations: [{ op: "add", value: { externalId: "x" } }] };
  if (method === "GET" || method === "DELETE") return undefined;
  return path.includes("/Users") ? { userName: "other@scim.test" } : { displayName: "Other" };
}

const seen = ({ status, body, headers }: Answer): unknown => [status, body, headers.get("content-type")];

test("an id of another organization returns what an unknown one does, on every route", async () => {
  const before = (await mine.call("GET", `/Users/${ids.user}`)).body;
  const addressed = routes.filter(({ path }) => path.endsWith("/{id}") && /Users|Groups/u.test(path));
  expect(addressed).toHaveLength(8);
  for (const { method, path } of addressed) {
    const kind = path.includes("/Users") ? "Users" : "Groups";
    const call = (id: string) => theirs.call(method, `/${kind}/${id}`, bodyOf(method, path));
    const foreign = await call(kind === "Users" ? ids.user : ids.group);
    expect(foreign.status, `${method} ${path}`).toBe(404);
    expect(seen(foreign)).toEqual(seen(await call(UNKNOWN)));
  }
  expect((await mine.call("GET", `/Users/${ids.user}`)).body).toEqual(before);
});

test("a token of another organization sees no organization, and every other credential is refused", async () => {
  for (const { method, path } of routes) {
    const body = bodyOf(method, path);
    const at = path.replace("{org_uuid}", owner.org).replace("{id}", ids.user);
    const headers = body === undefined ? {} : { "content-type": "application/scim+json" };
    const foreign = await app.call(method, at, { token: theirs.token, body, headers });
    const unknown = await app.call(method, at.replace(owner.org, UNKNOWN), { token: theirs.token, body, headers });
    expect([foreign.status, foreign.body.code], `${method} ${path}`).toEqual([404, "not_found"]);
    expect(seen(foreign)).toEqual(seen(unknown));
    expect((await app.call(method, at, { token: owner.token, body, headers })).status).toBe(401);
    expect((await app.call(method, at, { body, headers })).status).toBe(401);
  }
});

test("lists, filters and references show nothing of other organizations", async () => {
  for (const path of ["/Users", "/Groups"]) {
    const list = await theirs.call(
      "GET",
      `${path}?filter=${encodeURIComponent(`id eq "${ids.user}" or id eq "${ids.group}"`)}`,
    );
    expect(list.body).toMatchObject({ totalResults: 0, Resources: [] });
  }
  const filter = encodeURIComponent(`groups.value eq "${ids.group}" or groups.display eq "Tenant"`);
  expect((await theirs.call("GET", `/Users?filter=${filter}`)).body.totalResults).toBe(0);
});
