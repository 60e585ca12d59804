import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

it("requests of one organization that wait for a lock hold at most half of the connections", async () => {
  const [slow, quick] = [await founder(app), await founder(app)];
  const change = ({ org, token }: typeof slow, domain: string) =>
    app.call("PATCH", `/api/organizations/${org}`, { token, body: { jit_domains: [domain] } });
  const held = await holding(app.databaseUrl);
  await held.run("select 1 from organizations where uuid = $1 for update", [slow.org]);
  const waiting = Array.from({ length: 30 }, (_, at) => change(slow, `slow${at}.test`));
  await held.waitedFor(5);
  const others = await Promise.all([
    ...Array.from({ length: 10 }, (_, at) => change(quick, `quick${at}.test`)),
    app.call("PUT", "/api/profile", { token: quick.token, body: { first_name: "Quin" } }),
  ]);
  expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
  await held.commit();
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
});

it("a read of an organization that uses all of its connections returns 503 with Retry-After", async () => {
  const { org, token } = await founder(app);
  const body = { url: "https://hooks.example/x", events: ["*"] };
  const { webhook_id: id } = (await app.call("POST", "/api/v2/webhooks", { token, body })).body;
  const held = await holding(app.databaseUrl);
  await held.run("select 1 from organizations where uuid = $1 for update", [org]);
  const path = `/api/organizations/${org}`;
  const waiting = Array.from({ length: 5 }, () =>
    app.call("PATCH", path, { token, body: { jit_domains: ["slow.test"] } }),
  );
  await held.waitedFor(5);
  const answer = await app.call("GET", `/api/v2/webhooks/${id as string}`, { token });
  await held.commit();
  expect(answer).toMatchObject({ status: 503, body: { code: "unavailable" } });
  expect(answer.headers.get("retry-after")).toBe("1");
  await Promise.all(waiting);
});

const requests: { table: string; held: number; path: (org: string) => string; method?: string }[] = [
  { table: "api_keys", held: 2, path: (org: string) => `/api/admin/organizations/${org}/api-keys` },
  { table: "installs", held: 2, path: () => "/api/installs" },
  { table: "mfa_factors", held: 5, path: () => "/api/v1/me/mfa/recovery-codes/regenerate", method: "POST" },
];

it.each(requests)(
  "requests of one organization that wait for $table hold at most half of the connections",
  async ({ table, held: most, path, method = "GET" }) => {
    const [slow, quick] = [await founder(app), await founder(app)];
    const held = await holding(app.databaseUrl);
    await held.run(`lock table ${table} in access exclusive mode`);
    const waiting = Array.from({ length: 40 }, () => app.call(method, path(slow.org), { token: slow.token }));
    await held.waitedFor(most);
    const asked = [
      "/api/auth/me",
      "/api/roles",
      "/api/marketplace",
      "/api/organizations",
      `/api/admin/organizations/${quick.org}/scim-tokens`,
    ];
    const others = await Promise.all(
      asked.flatMap((each) => Array.from({ length: 4 }, () => app.call("GET", each, { token: quick.token }))),
    );
    expect(others.filter(({ status }) => status !== 200)).toEqual([]);
    await held.commit();
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    // Without a factor there are no codes to regenerate.
    const answered = method === "GET" ? 200 : 409;
    expect(statuses.filter((status) => status !== answered && status !== 503)).toEqual([]);
    expect(statuses).toContain(answered);
  },
);
