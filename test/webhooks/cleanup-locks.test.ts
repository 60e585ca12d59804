import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUpBatch, purgeEvents } from "../../src/domains/webhooks/cleanup-store.ts";
import { purgeChanges } from "../../src/domains/webhooks/watch-store.ts";
import { openTestDatabase } from "../support/database.ts";
import { holding } from "../support/holding.ts";
import { runSql } from "../support/postgres.ts";

let database: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const sql = <R extends object>(text: string, params: unknown[] = []) => runSql<R>(database.url, text, params);

/** Makes a webhook whose cleanup has begun, of the generation 1. Returns its id. */
async function clearedWebhook(): Promise<string> {
  const id = randomUUID();
  await sql(
    `insert into webhooks (webhook_id, org_uuid, scope, url, events, status, secret, created_at, updated_at, generation,
       clearing)
     values ($1, gen_random_uuid(), 'org', 'https://example.com/', '{*}', 'disabled', '', now(), now(), 1, 'fail')`,
    [id],
  );
  return id;
}

const DELIVERY = `with e as (
    insert into webhook_events (event_id, type, body, created_at)
    values ('evt_' || $1::text, 'user.created', '{}', $5::timestamptz) returning event_id)
  insert into webhook_deliveries (delivery_id, event_id, webhook_id, generation, status, queue, next_attempt_at,
    created_at)
  select $1::uuid, event_id, $2, $3, $4, 'first', now(), $5 from e`;
/** Parameters of a new delivery, the first of them its id. */
const delivery = (webhookId: string, generation: number, status: string, at = new Date()): [string, ...unknown[]] => [
  randomUUID(),
  webhookId,
  generation,
  status,
  at,
];

const statusesOf = async (webhookId: string): Promise<string[]> => {
  const text = "select status from webhook_deliveries where webhook_id = $1 order by status";
  return (await sql<{ status: string }>(text, [webhookId])).map(({ status }) => status);
};

test("the cleanup of a webhook does not wait for a delivery whose outcome is being recorded", async () => {
  const id = await clearedWebhook();
  const [one, other] = [delivery(id, 0, "pending"), delivery(id, 0, "pending")];
  for (const params of [one, other]) await sql(DELIVERY, params);
  const held = await holding(database.url);
  await held.run("select 1 from webhook_deliveries where delivery_id = $1 for update", [one[0]]);

  const cleaning = cleanUpBatch(database).then(() => "done");
  expect(await Promise.race([cleaning, held.waitedFor().then(() => "waits")])).toBe("done");
  expect(await statusesOf(id)).toEqual(["failed", "pending"]);
  // Nothing more to do until it is released: the poller pauses, and the webhook is not forgotten.
  expect(await cleanUpBatch(database)).toBe(false);
  await held.commit();
  while (await cleanUpBatch(database));
  expect(await statusesOf(id)).toEqual(["failed", "failed"]);
});

test("a webhook that is disabled again at the end of its cleanup is cleared of what it received before", async () => {
  const id = await clearedWebhook();
  const [receiving, disabling] = [await holding(database.url), await holding(database.url)];
  await receiving.run("select 1 from webhooks where webhook_id = $1 for share", [id]);
  await receiving.run(DELIVERY, delivery(id, 1, "pending"));
  const disabled = disabling.run("update webhooks set generation = 2, clearing = 'fail' where webhook_id = $1", [id]);
  await receiving.waitedFor(1);
  const cleaning = cleanUpBatch(database);
  await receiving.waitedFor(2);
  await receiving.commit();
  await disabled;
  await disabling.commit();
  await cleaning;

  while (await cleanUpBatch(database));
  expect(await statusesOf(id)).toEqual(["failed"]);
});

test("a delivery that is repeated while old events are removed stays", async () => {
  const id = await clearedWebhook();
  while (await cleanUpBatch(database));
  const at = new Date(Date.now() - 31 * 86_400_000);
  const [repeated, other] = [delivery(id, 0, "failed", at), delivery(id, 0, "failed", at)];
  for (const params of [repeated, other]) await sql(DELIVERY, params);
  const held = await holding(database.url);
  await held.run("update webhook_deliveries set status = 'pending', generation = 1 where delivery_id = $1", [
    repeated[0],
  ]);
  const purge = async () => {
    while ((await purgeEvents(database, new Date(Date.now() - 30 * 86_400_000))) > 0);
  };

  const purging = purge();
  await Promise.race([purging, held.waitedFor()]);
  await held.commit();
  await purging;
  await purge();
  expect(await statusesOf(id)).toEqual(["pending"]);
});

test("a change of a delivery that is noted again while old changes are removed stays", async () => {
  const id = await clearedWebhook();
  const [deliveryId, ...rest] = delivery(id, 0, "failed");
  await sql(DELIVERY, [deliveryId, ...rest]);
  const noted = `insert into webhook_changes (delivery_id, webhook_id, xid, at)
    values ($1, $2, pg_current_xact_id(), now() - interval '11 minutes')`;
  await sql(noted, [deliveryId, id]);
  await sql("insert into webhook_watches (webhook_id, until) values ($1, now() + interval '1 day')", [id]);
  const held = await holding(database.url);
  await held.run("update webhook_deliveries set attempts = '[{}]' where delivery_id = $1", [deliveryId]);
  const purging = purgeChanges(database, 100);
  await Promise.race([purging, held.waitedFor()]);
  await held.commit();
  expect(await purging).toBe(0);
  expect(await sql("select 1 from webhook_changes where delivery_id = $1", [deliveryId])).toHaveLength(1);
});
