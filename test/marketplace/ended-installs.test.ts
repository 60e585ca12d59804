import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createInstallTidy } from "../../src/domains/marketplace/installs/tidy.ts";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import type { TidyTask } from "../../src/platform/tidy-task.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { must, publish } from "./stage.ts";

const DAY_MS = 86_400_000;

let app: TestApp;
let buyer: Somebody;
let database: OpenDatabase;
let tidy: TidyTask;
let latest: string;
beforeAll(async () => {
  app = await startApp();
  buyer = await founder(app);
  const { slug } = await publish(app, (await founder(app)).token, {}, await app.login());
  const install = await app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token, body: {} });
  latest = must(install).install_id as string;
  database = await openDatabase({ url: app.databaseUrl, entities: [], migrations, clock: app.clock, log: silentLog });
});
beforeEach(async () => {
  tidy = createInstallTidy({ database, clock: app.clock });
  await end(latest, 900);
});
afterAll(async () => {
  await database.close();
  await app.close();
});

/** Makes an install one that ended so many days ago. */
const end = (installId: string, days: number): Promise<object[]> =>
  runSql(app.databaseUrl, "update installs set status = 'deprovisioned', updated_at = $2 where install_id = $1", [
    installId,
    new Date(app.clock.now() - days * DAY_MS),
  ]);

/** Adds an earlier install of the same app, with a timeline and a call, that ended so many days ago. */
async function addEnded(days: number): Promise<string> {
  const installId = randomUUID();
  await runSql(
    app.databaseUrl,
    `insert into installs (install_id, app_id, org_uuid, status, deployment_mode, plan_id, quantity, payment_source,
       sandbox, created_at, updated_at)
     select $1, app_id, org_uuid, 'deprovisioned', deployment_mode, plan_id, quantity, payment_source, sandbox,
       created_at - interval '1 day', $2 from installs where install_id = $3`,
    [installId, new Date(app.clock.now() - days * DAY_MS), latest],
  );
  await runSql(
    app.databaseUrl,
    `with event as (insert into install_timeline (install_id, at, event, detail) values ($1, now(), 'requested', ''))
     insert into cloud_targets (target_id, install_id, org_uuid, provider, region, status, created_at)
     values (gen_random_uuid(), $1, $2, 'aws', 'eu', 'revoked', now())`,
    [installId, buyer.org],
  );
  return installId;
}

const left = async (): Promise<string[]> =>
  (await runSql<{ id: string }>(app.databaseUrl, "select install_id as id from installs")).map(({ id }) => id).sort();

it("installs are deleted with their records 800 days after their end, except the latest of an app", async () => {
  const [old, recent] = [await addEnded(801), await addEnded(799)];
  expect(await tidy()).toBe(1);
  expect(await left()).toEqual([latest, recent].sort());
  const records = await runSql(
    app.databaseUrl,
    `select install_id from install_timeline where install_id = $1
     union all select install_id from cloud_targets where install_id = $1`,
    [old],
  );
  expect(records).toEqual([]);
  expect((await app.call("GET", `/api/installs/${latest}`, { token: buyer.token })).status).toBe(200);
});

it("an ended install that something was quoted for is kept", async () => {
  const quoted = await addEnded(2_000);
  await runSql(
    app.databaseUrl,
    `insert into quotes (quote_id, org_uuid, install_id, seats, currency, region, unit_amount_cents, subtotal_cents,
       tax_cents, total_cents, issued_by, issued_at, expires_at)
     values (gen_random_uuid(), $1, $2, 1, 'usd', 'default', 0, 0, 0, 0, '', now(), now())`,
    [buyer.org, quoted],
  );
  expect(await tidy()).toBe(0);
  expect(await left()).toContain(quoted);
});

it("the installs that stay do not keep later ones from being deleted", async () => {
  // More than a batch of installs that stay, all older than the one that may go.
  await runSql(
    app.databaseUrl,
    `with made as (
       insert into organizations (uuid, name, created_at, updated_at)
       select gen_random_uuid(), 'o' || n, now(), now() from generate_series(1, 120) n returning uuid)
     insert into installs (install_id, app_id, org_uuid, status, deployment_mode, plan_id, quantity, payment_source,
       sandbox, created_at, updated_at)
     select gen_random_uuid(), app_id, made.uuid, 'deprovisioned', deployment_mode, plan_id, quantity, payment_source,
       sandbox, created_at, $1 from installs, made where install_id = $2`,
    [new Date(app.clock.now() - 3_000 * DAY_MS), latest],
  );
  const old = await addEnded(801);
  expect([await tidy(), await tidy()]).toEqual([0, 1]);
  expect(await left()).not.toContain(old);
});
