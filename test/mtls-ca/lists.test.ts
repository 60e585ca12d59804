import { afterAll, beforeAll, expect, test } from "vitest";
import { createTidy } from "../../src/domains/mtls-ca/tidy.ts";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { authorityOf } from "./support.ts";

const DAY_MS = 86_400_000;

let app: TestApp;
let owner: Somebody;
let ca: ReturnType<typeof authorityOf>;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  ca = authorityOf(app, owner);
  await ca.create();
});
afterAll(() => app.close());

const names = async (query: string): Promise<string[]> =>
  ((await ca.list(query)).body.data as { common_name: string }[]).map(({ common_name }) => common_name);

test("certificates are listed by status, text and order, a page at a time", async () => {
  const made: Record<string, string> = {};
  const wishes = [
    { common_name: "Alpha", validity_days: 1 },
    { common_name: "Charlie", validity_days: 40, sans: ["API.charlie.example", "192.0.2.1"] },
    { common_name: "Bravo", validity_days: 30 },
  ];
  for (const wish of wishes) {
    const { body } = await ca.issue(wish);
    made[wish.common_name] = body.cert_uuid;
    app.clock.advance(1_000);
  }
  app.clock.advance(DAY_MS);
  owner = { ...owner, token: await app.login(owner.email, "a long enough one", owner.orgName) };
  ca = authorityOf(app, owner);
  await ca.revoke(made["Bravo"] ?? "");

  expect(await names("")).toEqual(["Bravo", "Charlie", "Alpha"]);
  expect(await names("?sort=created_at")).toEqual(["Alpha", "Charlie", "Bravo"]);
  expect(await names("?sort=common_name")).toEqual(["Alpha", "Bravo", "Charlie"]);
  expect(await names("?sort=-common_name")).toEqual(["Charlie", "Bravo", "Alpha"]);
  expect(await names("?sort=not_after")).toEqual(["Alpha", "Bravo", "Charlie"]);
  expect(await names("?sort=-not_after")).toEqual(["Charlie", "Bravo", "Alpha"]);
  expect(await names("?status=active")).toEqual(["Charlie"]);
  expect(await names("?status=expired")).toEqual(["Alpha"]);
  expect(await names("?status=revoked")).toEqual(["Bravo"]);
  expect(await names("?q=A")).toEqual(["Bravo", "Charlie", "Alpha"]);
  expect(await names("?q=CHAR")).toEqual(["Charlie"]);
  expect(await names("?q=api.")).toEqual(["Charlie"]);
  expect(await names("?q=192.0.2.1")).toEqual(["Charlie"]);
  expect(await names("?q=%25")).toEqual([]);
  const { serial } = (await ca.get(made["Alpha"] ?? "")).body;
  expect(await names(`?q=${serial.toUpperCase().slice(4, 20)}`)).toEqual(["Alpha"]);

  const page = await ca.list("?limit=1&offset=1&sort=common_name");
  expect(page.body).toMatchObject({ data: [{ common_name: "Bravo" }], total: 3, limit: 1, offset: 1 });
  expect(page.body.data[0]).not.toHaveProperty("certificate");
  for (const query of [
    "?status=gone",
    "?sort=serial",
    "?limit=0",
    "?limit=201",
    "?offset=10001",
    `?q=${"x".repeat(201)}`,
  ])
    expect(outcome(await ca.list(query)), query).toBe("400 validation_error");
});

test("certificates are forgotten 90 days after they have expired, and deleted authorities after them", async () => {
  const other = await founder(app);
  const mine = authorityOf(app, other);
  await mine.create();
  await mine.issue({ validity_days: 1 });
  await mine.remove();
  await mine.create();
  const tidied = async (): Promise<unknown[]> => {
    const sql = `select (select count(*)::int from mtls_cas where org_uuid = $1) as cas,
      (select count(*)::int from mtls_certificates where org_uuid = $1) as certificates`;
    return runSql(app.databaseUrl, sql, [other.org]);
  };
  expect(await tidied()).toEqual([{ cas: 2, certificates: 1 }]);
  app.clock.advance(92 * DAY_MS);
  const { clock } = app;
  const database = await openDatabase({ url: app.databaseUrl, entities: [], migrations, clock, log: silentLog });
  const { certificates } = createTidy({ database, clock });
  // Alpha of the other organization has expired too.
  expect([await certificates(), await certificates()]).toEqual([3, 0]);
  await database.close();
  expect(await tidied()).toEqual([{ cas: 1, certificates: 0 }]);
});
