import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let token: string;
let alpha: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  token = await app.login();
  alpha = await founder(app, "Alpha Works");
  await founder(app, "beta_works 100%");
  await member(app, alpha);
  const gone = await member(app, alpha);
  await app.call("DELETE", `/api/users/${gone.userUuid}`, { token: alpha.token });
});
afterAll(() => app.close());

const list = (query = "") => app.call("GET", `/api/admin/organizations${query}`, { token });
const names = async (query: string): Promise<string[]> =>
  ((await list(query)).body.data as { name: string }[]).map(({ name }) => name);

it("a platform admin sees every organization by name, with its plan and members", async () => {
  const { status, body } = await list();
  expect([status, body.total, body.limit, body.offset]).toEqual([200, 3, 50, 0]);
  expect((body.data as { name: string }[]).map(({ name }) => name)).toEqual(["Acme", "Alpha Works", "beta_works 100%"]);
  const [, row] = body.data as Record<string, unknown>[];
  expect(row).toEqual({
    org_uuid: alpha.org,
    name: "Alpha Works",
    plan: "free",
    members: 2,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/u) as string,
  });
});

it("a text finds names that contain it, without case and without wildcards", async () => {
  expect(await names("?q=WORKS")).toEqual(["Alpha Works", "beta_works 100%"]);
  expect(await names("?q=100%25")).toEqual(["beta_works 100%"]);
  expect(await names("?q=%25")).toEqual(["beta_works 100%"]);
  expect(await names("?q=_")).toEqual(["beta_works 100%"]);
  expect(await names("?q=nobody")).toEqual([]);
  expect((await list("?q=works&limit=1&offset=1")).body).toMatchObject({
    total: 2,
    limit: 1,
    offset: 1,
    data: [{ name: "beta_works 100%" }],
  });
});

it("organizations are sorted by name or by when they were made, in either direction", async () => {
  expect(await names("?sort=name")).toEqual(["Acme", "Alpha Works", "beta_works 100%"]);
  expect(await names("?sort=-name")).toEqual(["beta_works 100%", "Alpha Works", "Acme"]);
  const since = (query: string) =>
    list(query).then(({ body }) => (body.data as { created_at: string }[]).map((one) => one.created_at));
  const times = await since("?sort=created_at");
  expect(times).toEqual(times.toSorted());
  expect(await since("?sort=-created_at")).toEqual(times.toReversed());
  expect((await list("?sort=-name&q=works&limit=1")).body).toMatchObject({
    total: 2,
    data: [{ name: "beta_works 100%", members: 1 }],
  });
  for (const sort of ["plan", "--name", "name desc"])
    expect(outcome(await list(`?sort=${encodeURIComponent(sort)}`))).toBe("400 validation_error");
});

it("the settings of organizations are searched and sorted by name, and an empty page keeps its list", async () => {
  const settings = async (query: string) => (await app.call("GET", `/api/operator/config${query}`, { token })).body;
  const ids = async (query: string): Promise<string[]> =>
    ((await settings(query)).data as { org_uuid: string }[]).map((one) => one.org_uuid);
  const all = await ids("");
  expect(all).toHaveLength(3);
  expect(await ids("?sort=-name")).toEqual(all.toReversed());
  expect(await ids("?q=ALPHA")).toEqual([alpha.org]);
  expect(await settings("?q=nobody")).toEqual({ data: [], total: 0, limit: 50, offset: 0 });
  expect(await settings("?offset=10000")).toEqual({ data: [], total: 3, limit: 50, offset: 10_000 });
  expect(await settings(`?org_uuid=${alpha.org}`)).not.toHaveProperty("data");
});

it("pages and texts out of range are 400", async () => {
  for (const query of ["?limit=0", "?limit=201", "?offset=10001", `?q=${"x".repeat(201)}`, "?q=a&q=b"])
    expect(outcome(await list(query))).toMatch(/^400 /u);
});

it("anybody else is refused", async () => {
  expect(outcome(await app.call("GET", "/api/admin/organizations", { token: alpha.token }))).toBe("403 forbidden");
  expect(outcome(await app.call("GET", "/api/admin/organizations"))).toBe("401 unauthorized");
});

it("an organization that ended is not listed", async () => {
  const brief = await founder(app, "Brief");
  const path = `/api/organizations/${brief.org}`;
  expect((await app.call("DELETE", path, { token: await elevated(app, brief.token) })).status).toBeLessThan(300);
  expect(await names("?q=brief")).toEqual([]);
});
