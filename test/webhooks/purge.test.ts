import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cleanUpBatch, purgeEnded, purgeEvents } from "../../src/domains/webhooks/cleanup-store.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { openTestDatabase } from "../support/database.ts";

const WEBHOOKS = 2_500;
let database: OpenDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const count = async (table: string): Promise<number> =>
  (await database.prepared<{ n: number }>(`count-${table}`, `select count(*)::int as n from ${table}`, []))[0]?.n ?? 0;

it("old events with many deliveries are removed in batches, by several at once, and new ones stay", async () => {
  const org = randomUUID();
  await database.transaction(async (tx) => {
    await tx.query(
      `insert into webhooks (webhook_id, org_uuid, scope, url, events, status, secret, created_at, updated_at, ended_at)
       select gen_random_uuid(), $1, 'org', 'https://example.com/', '{*}', 'disabled', '', now(), now(),
         case when n <= 3 then now() - interval '31 days' end
       from generate_series(1, $2::int) n`,
      [org, WEBHOOKS],
    );
    for (const [id, age] of [
      ["evt_old", 31],
      ["evt_older", 40],
      ["evt_new", 29],
    ] as const) {
      await tx.query(
        "insert into webhook_events (event_id, type, body, created_at) values ($1, 'user.created', '{}', now() - $2::int * interval '1 day')",
        [id, age],
      );
      await tx.query(
        `insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, created_at)
         select gen_random_uuid(), $1, webhook_id, 'delivered', 'first', now() from webhooks`,
        [id],
      );
    }
  });
  // A delivery that was repeated lately and is still open.
  await database.transaction((tx) =>
    tx.query(
      `with e as (
         insert into webhook_events (event_id, type, body, created_at)
         values ('evt_open', 'user.created', '{}', now() - interval '31 days') returning event_id)
       insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at)
       select gen_random_uuid(), event_id, webhook_id, 'pending', 'retry', now() + interval '1 hour', now()
       from e, (select webhook_id from webhooks where ended_at is null limit 1) w`,
    ),
  );
  const before = new Date(Date.now() - 30 * 86_400_000);
  const removed: number[] = [];
  const work = async (): Promise<void> => {
    for (let some = 1; some > 0; removed.push(some)) some = await purgeEvents(database, before);
  };
  await Promise.all([work(), work()]);
  expect(Math.max(...removed)).toBeLessThanOrEqual(2_000);
  expect([await count("webhook_events"), await count("webhook_deliveries")]).toEqual([2, WEBHOOKS + 1]);
  const left = await database.prepared(
    "open",
    "delete from webhook_events where event_id = 'evt_open' returning 1",
    [],
  );
  expect(left).toHaveLength(1);

  expect([await purgeEnded(database, before), await purgeEnded(database, before)]).toEqual([3, 0]);
  while (await cleanUpBatch(database));
  expect([await count("webhooks"), await count("webhook_deliveries")]).toEqual([WEBHOOKS - 3, WEBHOOKS - 3]);
});
