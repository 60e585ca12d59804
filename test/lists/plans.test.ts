import { getOption } from "@bufbuild/protobuf";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rules } from "../../gen/atrium/options/v1/options_pb.ts";
import type { TestApp } from "../support/app.ts";
import { fill, kindOf } from "../matrix/paths.ts";
import { platformAdmin, populate, publishApp, startMatrixApp } from "../matrix/world.ts";
import type { Ids } from "../matrix/world.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import { bounds } from "../shape/bounds.ts";
import { FEW_ROWS, seed, seeded } from "./seed.ts";
import { explain, isReading, listenToStatements, scansOf } from "./statements.ts";

/**
 * Rows made of each table: `ATRIUM_TEST_ROWS=1000000`, as `npm run faults -- --only plans` sets it, makes all of them.
 */
const made = Number(process.env["ATRIUM_TEST_ROWS"] ?? FEW_ROWS);
/** Building many rows takes half an hour. */
const SEEDING_MS = made > FEW_ROWS ? 3_600_000 : undefined;

const statements = listenToStatements();
let app: TestApp;
let client: pg.Client;
let ids: Ids;
let installed: string;
let tokens: string[];
beforeAll(async () => {
  app = await startMatrixApp();
  const platform = await platformAdmin(app);
  const shop = await publishApp(app, platform.token, platform.token);
  const side = await populate(app, shop.slug);
  ids = { ...side.ids, service_identity_id: side.ids["identity_id"] ?? "" };
  installed = shop.appId;
  const organization = `/api/admin/organizations/${side.owner.org}`;
  const scim = await app.call("POST", `${organization}/scim-tokens`, {
    token: side.token,
    body: { name: "directory" },
  });
  const group = await app.call("POST", `/scim/v2/organizations/${side.owner.org}/Groups`, {
    token: scim.body.token,
    body: { schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"], displayName: "Group" },
  });
  expect(group.status).toBe(201);
  tokens = [side.token, platform.token, scim.body.token];
  const { body } = await app.call("POST", `/api/marketplace/apps/${ids["app_id"]}/listings`, {
    token: side.token,
    body: { marketplace: "aws", external_product_id: "p" },
  });
  expect(body.listing_id).toBeDefined();
  await seed(
    app.databaseUrl,
    {
      org: ids["org_uuid"] ?? "",
      user: side.owner.userUuid,
      session: ids["session_id"] ?? "",
      app: ids["app_id"] ?? "",
      install: ids["install_id"] ?? "",
      webhook: ids["webhook_id"] ?? "",
    },
    made,
  );
  client = new pg.Client(app.databaseUrl);
  await client.connect();
}, SEEDING_MS);
afterAll(async () => {
  await client.end();
  await app.close();
});

/** Rows a list may sort: what one organization has of what ends by itself, never what the platform has. */
const MOST_SORTED = 100_000;

/**
 * Rows that a scan may read: those that are counted exactly, and the pages before a late one. Among a million rows the
 * planner takes an index whose rows it passes over in part.
 */
const MOST_READ = made > FEW_ROWS ? 60_000 : 10_500;
/** Lists that read more. */
const READING_MORE: readonly RegExp[] = [
  // Texts are searched; those of the audit log in batches.
  /^(?!.*\/(?:audit-events|auth-events|auth\/events)\?).*[?&]q=/u,
  // The end of an authority revokes all its certificates. Expired certificates are kept for 90 days, SVIDs for 30.
  /\/mtls-ca\/certificates\?status=/u,
  /\/svids\?status=active&.*offset=/u,
  // Deleted secrets, between those in use, are kept for 30 days.
  /\/secrets(?:\?limit=\d+&offset=\d+)?$/u,
  // The platform makes prices.
  /\/pricing\/prices\?active=/u,
];

const given: Readonly<Record<string, string>> = {
  q: "seeded",
  from: "2020-01-01T00:00:00Z",
  to: "2040-01-01T00:00:00Z",
  type: "login.password",
  outcome: "failure",
  email: "seeded",
  page: "400",
  ip_address: "127.0.0.1",
  actor: "owner@acme.test",
  deleted: "true",
  folder: "seeded",
  active: "true",
  product: "seats",
  filter: 'externalId eq "seeded"',
};

/** Whether a table does not grow with what customers have, or is none that lists read but the background. */
function isSmall(table: string): boolean {
  const bound = bounds[table] ?? {};
  return "fixedBy" in bound || "workedOffBy" in bound || table === "liveness_changes";
}

/** The id for a parameter of a path. The app of an install is the one of the shop. */
const idIn = (path: string, name: string): string | undefined =>
  name === "app_id" && path.includes("{install_id}") ? installed : ids[kindOf(path, name)];

/** Queries of a list: none, each filter with each of its values, all filters at once, a late page. */
function queriesOf({ rpc, path }: Binding): string[] {
  const filters = rpc.input.fields
    .filter(({ name }) => !path.includes(`{${name}`) && !["limit", "offset"].includes(name))
    .map((field) => {
      const { in: listed, pattern } = getOption(field, rules);
      const [, sorts = ""] = /^-\?\((.*)\)$/u.exec(pattern) ?? [];
      const orders = sorts === "" ? [] : sorts.split("|").flatMap((one) => [one, `-${one}`]);
      const values = [...listed, ...orders];
      const value = values.length > 0 ? values : [given[field.name] ?? ids[kindOf(path, field.name)] ?? ""];
      return value.filter((one) => one !== "").map((one) => `${field.name}=${encodeURIComponent(one)}`);
    })
    .filter((values) => values.length > 0);
  const paged = rpc.input.fields.some(({ name }) => name === "offset") ? ["limit=200&offset=10000"] : [];
  return [
    "",
    ...filters.flat(),
    ...paged,
    ...filters.map((values) => [values[0], ...paged].join("&")),
    filters.map(([first]) => first).join("&"),
  ];
}

it(
  "no list reads or sorts a whole table, or many more rows than it returns, however it is filtered",
  async () => {
    const tables = new Set(seeded);
    const wrong = new Map<string, string>();
    const read = new Set<string>();
    const planned = new Map<string, string>();
    const explained = new Set<string>();
    const lists = bindings().filter(
      ({ method, rpc }) =>
        method === "GET" &&
        (/^List|^Get(?:Config|OwnS)|^Browse|Stats$/u.test(rpc.name) ||
          rpc.input.fields.some(({ name }) => name === "limit")),
    );
    for (const binding of lists) {
      for (const query of new Set(queriesOf(binding))) {
        for (const token of tokens) {
          statements.take();
          const filled = fill(binding.path, (name) => idIn(binding.path, name) ?? "main");
          const path = `${filled}${query === "" ? "" : `?${query}`}`;
          const { status } = await app.call("GET", path, { token });
          if (status >= 500 && status !== 501) wrong.set(`${path} is answered ${status}`, "");
          if (status === 200) read.add(binding.path);
          for (const one of statements.take()) {
            // Statements of every request are explained once.
            const values = one.values.map((value) => (value instanceof Date ? "at" : value));
            const known = `${one.text} ${JSON.stringify(values)}`;
            if (explained.has(known)) continue;
            explained.add(known);
            const found = await explain(client, one, tables, MOST_SORTED);
            for (const table of found.tables) planned.set(table, path);
            const complaints = [...found.complaints];
            if (isReading(one) && !READING_MORE.some((list) => list.test(path)))
              for (const { table, rows } of await scansOf(client, one))
                if (rows > MOST_READ && tables.has(table)) complaints.push(`reads ${rows} rows of ${table}`);
            if (complaints.length > 0)
              wrong.set(`${complaints.join(", ")}: ${one.text.replaceAll(/\s+/gu, " ").slice(0, 400)}`, path);
          }
        }
      }
    }
    expect([...wrong].map(([what, path]) => `${path} ${what}`)).toEqual([]);
    expect(lists.filter(({ path }) => !read.has(path)).map(({ path }) => path)).toEqual([]);
    // A table that no list read before: test/lists/seeded-tables.ts needs it.
    expect([...planned].filter(([table]) => !tables.has(table) && !isSmall(table))).toEqual([]);
  },
  SEEDING_MS,
);
