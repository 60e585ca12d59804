import { afterAll, beforeAll, expect, it } from "vitest";
import { listenToStatements } from "../lists/statements.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { seedEvents } from "./chain-support.ts";

const statements = listenToStatements();
let app: TestApp;
let by: Somebody;
beforeAll(async () => {
  app = await startApp();
  by = await founder(app);
  await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 4, from: new Date(Date.now() - 3_600_000) });
  await runSql(
    app.databaseUrl,
    `update audit_events set ip_address = '2001:db8::1' where sequence in (
       select sequence from audit_events where org_uuid = $1 and user_agent = 'seed' order by sequence limit 2)`,
    [by.org],
  );
});
afterAll(() => app.close());

const lists = (): string[] => [
  "/api/auth/events",
  `/api/admin/organizations/${by.org}/auth-events`,
  `/api/organizations/${by.org}/audit-events`,
];
const get = (path: string, address: string) =>
  app.call("GET", `${path}?ip_address=${encodeURIComponent(address)}`, { token: by.token });

it.each([
  ["192.0.2.7", 2],
  ["::ffff:192.0.2.7", 2],
  ["::FFFF:c000:207", 2],
  ["2001:db8::1", 2],
  ["2001:DB8:0::1", 2],
  ["2001:0db8:0000:0000:0000:0000:0000:0001", 2],
  ["192.0.2.8", 0],
])("the audit lists find events by the address %s in any of its notations", async (address, total) => {
  for (const path of lists()) expect((await get(path, address)).body, path).toMatchObject({ total });
});

it.each(["limit=50", "limit=3&cursor=", "limit=2", "limit=1", "limit=50&offset=1", "limit=50&offset=9"])(
  "a search of %s reads the log once, for its page and its total",
  async (page) => {
    for (const path of lists()) {
      statements.take();
      const { body } = await app.call("GET", `${path}?ip_address=192.0.2.7&${page}`, { token: by.token });
      expect(body, path).toMatchObject({ total: 2 });
      expect(
        statements.take().filter(({ text }) => text.includes("with batch as")),
        path,
      ).toHaveLength(1);
    }
  },
);

it.each(["10.0.0.", "192.0.2", "192.0.2.7/24", "localhost", "fe80::1%eth0"])(
  "an audit list refuses %s, which is no address",
  async (address) => {
    for (const path of lists())
      expect(await get(path, address), path).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field: "ip_address" }] },
      });
  },
);
