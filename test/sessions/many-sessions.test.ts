import { afterAll, beforeAll, expect, it } from "vitest";
import { listenToStatements } from "../lists/statements.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { copyRows } from "../support/copies.ts";
import { elevated, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const statements = listenToStatements();
let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/** Copies the session of a founder. */
const copySessions = ({ org }: Somebody, count: number): Promise<void> =>
  copyRows(
    app.databaseUrl,
    "sessions",
    { where: "source.org_uuid = $1", values: { uuid: "gen_random_uuid()" }, count },
    [org],
  );
const live = (org: string) =>
  runSql(app.databaseUrl, "select count(*)::int as n from sessions where org_uuid = $1 and revoked_at is null", [org]);
const updates = () => statements.take().filter(({ text }) => text.includes("update sessions set revoked_at"));

it("a revocation of 12,000 sessions runs in batches and spares the session of the caller", async () => {
  const by = await founder(app);
  await copySessions(by, 12_000);
  const token = await elevated(app, by.token);
  statements.take();
  const path = `/api/organizations/${by.org}/session-inventory`;
  const { status, body } = await app.call("DELETE", path, { token, body: { exclude_current: true } });
  expect({ status, body }).toMatchObject({ status: 200, body: { revoked: 12_000 } });
  // Three batches, and an empty one.
  expect(updates()).toHaveLength(4);
  expect(await live(by.org)).toEqual([{ n: 1 }]);
  const events = await app.call("GET", `/api/organizations/${by.org}/audit-events?type=session.bulk_revoked`, {
    token,
  });
  expect(events.body).toMatchObject({ total: 1, data: [{ metadata: { revoked: 12_000 } }] });
});

it("deleting an organization ends its sessions in batches", async () => {
  const by = await founder(app);
  await copySessions(by, 6_000);
  const token = await elevated(app, by.token);
  statements.take();
  expect((await app.call("DELETE", `/api/organizations/${by.org}`, { token })).status).toBe(204);
  expect(updates().length).toBeGreaterThan(2);
  expect(await live(by.org)).toEqual([{ n: 0 }]);
});

it("two concurrent revocations of 6,000 sessions end each session once", async () => {
  const by = await founder(app);
  await copySessions(by, 6_000);
  const tokens = await Promise.all([elevated(app, by.token), elevated(app, by.token)]);
  const path = `/api/organizations/${by.org}/session-inventory`;
  const answers = await Promise.all(
    tokens.map((token) => app.call("DELETE", path, { token, body: { exclude_current: true } })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers.reduce((sum, { body }) => sum + Number(body.revoked), 0)).toBe(6_000);
  expect(await live(by.org)).toEqual([{ n: 1 }]);
});
