import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callRest } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { routeTable } from "../shape/contract-routes.ts";
import { unknownIds } from "./paths.ts";
import { addressed, foreignSets } from "./requests.ts";
import type { Addressed } from "./requests.ts";
import { forAll } from "./send.ts";
import type { Credential } from "./send.ts";
import { bySvid, workload } from "./workloads.ts";
import { platformAdmin, populate, publishApp, signIn, startMatrixApp } from "./world.ts";
import type { Ids, Side } from "./world.ts";
import { founder } from "../support/people.ts";

let app: TestApp;
let a: Side;
let b: Side;
let platform: { token: string; elevated: string; org: string };
beforeAll(async () => {
  app = await startMatrixApp();
  platform = await platformAdmin(app);
  const seller = await founder(app);
  const shop = await publishApp(app, (await signIn(app, seller)).token, platform.token);
  a = await populate(app, shop.slug);
  b = await populate(app, shop.slug);
});
afterAll(() => app.close());

const { requests, unknown } = addressed();

/** A response without what may differ between two of them: request ids, and the requested ids. */
async function answer({ binding, path, body }: Addressed, ids: Ids, { token, fetch }: Credential): Promise<string> {
  const sent = body(ids);
  const { status, text, headers } = await callRest(app.url, binding.method, path(ids), {
    token,
    ...(fetch && { fetch }),
    ...(sent === undefined ? {} : { body: sent }),
  });
  const plain = text.replaceAll(/"(?:request_id|instance|event_id|timestamp|checked_at)":\s*"[^"]*"/gu, "…");
  const asked = [...Object.values(ids)]
    .filter((id) => id.length > 3)
    .reduce((shown, id) => shown.replaceAll(id, "<id>"), plain);
  return `${status} ${headers.get("content-type")} ${headers.get("www-authenticate")} ${asked}`;
}

/** Every response that distinguishes ids of B from unknown ids: `GET /x {foreign kinds}` to what was seen. */
async function differences(by: Credential, own: Ids): Promise<{ disclosed: string[]; odd: string[] }> {
  const disclosed: string[] = [];
  const odd: string[] = [];
  const tries = requests.flatMap((request) => foreignSets(request.kinds).map((kinds) => ({ request, kinds })));
  await forAll(
    tries,
    async ({ request, kinds }) => {
      const [nothing, foreign] = [{ ...own }, { ...own }];
      for (const kind of kinds) [nothing[kind], foreign[kind]] = [unknownIds[kind] ?? "", b.ids[kind] ?? ""];
      const baseline = await answer(request, nothing, by);
      const seen = await answer(request, foreign, by);
      const name = `${request.binding.method} ${request.binding.path} {${kinds.join(", ")}}`;
      if (baseline !== seen) disclosed.push(`${name}: ${seen} — nothing: ${baseline}`);
      if (!/^404 /u.test(baseline) && !elsewhere.has(`${request.binding.method} ${request.binding.path}`))
        odd.push(`${name}: ${baseline}`);
    },
    6,
  );
  return { disclosed: disclosed.sort(), odd: odd.sort() };
}

/**
 * Where an unknown id does not return 404: an empty list, a denied check; and what only platform admins
 * may do at all.
 */
const elsewhere = new Set([
  "GET /api/organizations/{org_uuid}/session-inventory",
  "POST /api/entitlements/check",
  "POST /api/entitlements/check-batch",
  "PUT /api/admin/organizations/{org_uuid}/secrets/{name}",
  ...routeTable()
    .filter(({ auth }) => auth === "platform-admin")
    .map(({ method, path }) => `${method} ${path}`),
]);

/**
 * Every row of the database that names an object of B, without times of last use and the bookkeeping of the
 * chain.
 */
async function rowsOfB(): Promise<string[]> {
  const names = Object.entries(b.ids)
    .filter(([kind, id]) => id.length > 8 && kind !== "signing_key")
    .map(([, id]) => id)
    .concat(b.owner.userUuid);
  const tables = await runSql<{ name: string }>(
    app.databaseUrl,
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
  );
  const rows: string[] = [];
  for (const { name } of tables.filter(
    ({ name: table }) => !/^audit_(?:pending|links|heads|counts)$|^(?:rate_|idempotency)/u.test(table),
  )) {
    const found = await runSql<{ row: Record<string, unknown> }>(
      app.databaseUrl,
      `select to_jsonb(t) as row from ${name} t where t::text ~ $1`,
      [names.join("|")],
    );
    // The log of A may contain the id that A requested; nothing else of it belongs to B.
    rows.push(
      ...found
        .filter(({ row }) => name !== "audit_events" || row["org_uuid"] !== a.ids["org_uuid"])
        .map(({ row }) => `${name} ${JSON.stringify({ ...row, last_seen_at: 0, last_used_at: 0 })}`),
    );
  }
  return rows.sort();
}

it("the test can create every kind of id that a built route accepts", () => {
  // For a new kind of id, create one in world.ts and add an unknown one to paths.ts.
  expect(unknown).toEqual([]);
  expect(requests.length).toBeGreaterThan(50);
});

it("the owner of organization B can use the ids, so they exist", async () => {
  const reading = requests.filter(
    ({ binding }) =>
      binding.method === "GET" &&
      binding.rpc.methodKind === "unary" &&
      !binding.path.includes("/installs/{install_id}"),
  );
  const refused = await forAll(reading, async (request) => {
    const seen = await answer(request, b.ids, { token: b.elevated });
    return seen.startsWith("200 ") ? [] : [`${request.binding.method} ${request.binding.path}: ${seen}`];
  });
  expect(refused.flat()).toEqual([]);
  expect(reading.length).toBeGreaterThan(15);
});

describe("The owner of organization A, elevated", () => {
  it("an owner cannot distinguish ids of another organization from unknown ones, and changes none", async () => {
    const before = await rowsOfB();
    expect(before.length).toBeGreaterThan(25);
    const { disclosed, odd } = await differences({ token: a.elevated }, a.ids);
    expect(disclosed).toEqual([]);
    expect(odd).toEqual([]);
    expect(await rowsOfB()).toEqual(before);
  });
});

describe("A service identity of organization A with the role admin, by its SVID", () => {
  it("a workload cannot distinguish ids of another organization from unknown ones, and changes none", async () => {
    const svid = bySvid(await workload(app, { token: a.elevated, org: a.ids["org_uuid"] ?? "" }));
    const me = await callRest(app.url, "GET", "/api/auth/me", svid.fetch === undefined ? {} : { fetch: svid.fetch });
    expect(me).toMatchObject({ status: 200, body: { org_uuid: a.ids["org_uuid"] } });
    const before = await rowsOfB();
    expect((await differences(svid, a.ids)).disclosed).toEqual([]);
    expect(await rowsOfB()).toEqual(before);
  });
});

describe("A platform admin, elevated", () => {
  const words = new Map(routeTable().map(({ method, path, auth }) => [`${method} ${path}`, auth]));
  const own = (): Ids => ({ ...a.ids, org_uuid: platform.org });
  const change = (org: string, body: unknown) =>
    app.call("PATCH", `/api/organizations/${org}`, { token: platform.elevated, body }).then(({ status }) => status);

  it("a platform admin changes the plan of another organization and nothing else of its settings", async () => {
    const before = await rowsOfB();
    const nobody = unknownIds["org_uuid"] ?? "";
    for (const body of [
      {},
      { name: "Taken over" },
      { jit_domains: ["evil.test"] },
      { plan: "pro", name: "Taken over" },
    ])
      expect([await change(b.ids["org_uuid"] ?? "", body), await change(nobody, body)]).toEqual([403, 403]);
    expect(await rowsOfB()).toEqual(before);
    expect([await change(b.ids["org_uuid"] ?? "", { plan: "pro" }), await change(nobody, { plan: "pro" })]).toEqual([
      200, 404,
    ]);
  });

  it("a platform admin reaches of another organization what decisions 2.5 and 9.1 list, and nothing else", async () => {
    const { disclosed } = await differences({ token: platform.elevated }, own());
    const listed = [
      "GET /api/auth/events",
      // Platform admins administer every app and can read an unpublished one.
      "GET /api/marketplace/{slug}",
      "GET /api/marketplace/apps/{app_id}/access",
      "POST /api/v2/webhooks",
    ];
    const declared = requests
      .map(({ binding }) => `${binding.method} ${binding.path}`)
      .filter((key) => /^(?:app-admin|platform-admin)$/u.test(words.get(key) ?? ""));
    expect([...new Set(disclosed.map((line) => line.slice(0, line.indexOf(" {"))))].sort()).toEqual(
      [...listed, ...declared].sort(),
    );
  });
});
