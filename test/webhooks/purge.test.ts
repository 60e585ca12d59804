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
  const before = new Date(Date.now() - 30 * 86_400_000);
  const removed: number[] = [];
  const work = async (): Promise<void> => {
    for (let some = 1; some > 0; removed.push(some)) some = await purgeEvents(database, before);
  };
  await Promise.all([work(), work()]);
  expect(Math.max(...removed)).toBeLessThanOrEqual(2_000);
  expect([await count("webhook_events"), await count("webhook_deliveries")]).toEqual([1, WEBHOOKS]);

  expect([await purgeEnded(database, before), await purgeEnded(database, before)]).toEqual([3, 0]);
  while (await cleanUpBatch(database));
  expect([await count("webhooks"), await count("webhook_deliveries")]).toEqual([WEBHOOKS - 3, WEBHOOKS - 3]);
});
