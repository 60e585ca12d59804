import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { takeFirst } from "../../src/domains/webhooks/places-store.ts";
import type { Shares, TakenDelivery } from "../../src/domains/webhooks/places-store.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { openTestDatabase } from "../support/database.ts";

let database: OpenDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(() =>
  database.transaction(async (tx) => {
    for (const table of ["webhook_deliveries", "webhook_events", "webhooks"]) await tx.query(`delete from ${table}`);
  }),
);

const now = new Date();
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1_000);

/** An endpoint with deliveries that have been due for so many seconds. */
async function endpoint(orgUuid: string, host: string, seconds: readonly number[], failing = false): Promise<string> {
  const webhookId = randomUUID();
  await database.transaction(async (tx) => {
    await tx.query(
      `insert into webhooks (webhook_id, org_uuid, scope, url, events, status, secret, failing_since, created_at, updated_at)
       values ($1, $2, 'org', $3, '{*}', 'enabled', '', $4, $5, $5)`,
      [webhookId, orgUuid, `https://${host}/hook`, failing ? now : null, now],
    );
    for (const each of seconds) {
      const eventId = `evt_${randomUUID()}`;
      await tx.query(
        "insert into webhook_events (event_id, type, body, created_at) values ($1, 'user.created', '{}', $2)",
        [eventId, now],
      );
      await tx.query(
        `insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at)
         values (gen_random_uuid(), $1, $2, 'pending', 'first', $3, $4)`,
        [eventId, webhookId, ago(each), now],
      );
    }
  });
  return webhookId;
}
const shares = (more: Partial<Shares>): Shares => ({
  endpoints: new Map(),
  organizations: new Map(),
  hosts: new Map(),
  free: { quick: 100, other: 100, active: 100 },
  maxPerHost: 100,
  ...more,
});
const take = async (more: Partial<Shares> = {}): Promise<TakenDelivery[]> =>
  (await takeFirst(database, now, 30_000, null, shares(more), 0)).taken;
const idsOf = (taken: readonly TakenDelivery[]): string[] => taken.map((one) => one.webhookId).toSorted();
const held = (all: number) => ({ all, active: all });

it("an organization gets as many places as it leaves free, for endpoints that do not fail first, then by due time", async () => {
  const org = randomUUID();
  const dead = await endpoint(org, "dead.test", [100], true);
  const ids = await Promise.all(Array.from({ length: 10 }, (_, nth) => endpoint(org, `${nth}.test`, [50 - nth])));
  const places = { quick: 8, other: 8, active: 8 };
  expect(idsOf(await take({ free: places }))).toEqual(ids.slice(0, 4).toSorted());
  expect(idsOf(await take({ free: places, organizations: new Map([[org, held(4)]]) }))).toEqual(
    ids.slice(4, 6).toSorted(),
  );
  expect(idsOf(await take())).toEqual([dead, ...ids.slice(6)].toSorted());
});

it("organizations that hold the fewest places come first, and none gets the last", async () => {
  const [served, poor] = [randomUUID(), randomUUID()];
  await Promise.all(Array.from({ length: 10 }, (_, nth) => endpoint(served, `s${nth}.test`, [90])));
  const late = await Promise.all([endpoint(poor, "p1.test", [2]), endpoint(poor, "p2.test", [1])]);
  const few = { free: { quick: 9, other: 9, active: 3 }, organizations: new Map([[served, { all: 2, active: 0 }]]) };
  expect(idsOf(await take(few))).toEqual([...late.slice(0, 1)]);
  const taken = await take({
    free: { quick: 9, other: 9, active: 100 },
    organizations: new Map([
      [served, { all: 2, active: 0 }],
      [poor, held(1)],
    ]),
  });
  expect(taken.filter(({ orgUuid: org }) => org === poor)).toHaveLength(1);
  expect(taken.filter(({ orgUuid: org }) => org === served)).toHaveLength(3);
});

it("a host has a limited share of the places, whatever organizations its endpoints belong to", async () => {
  await Promise.all(Array.from({ length: 30 }, () => endpoint(randomUUID(), "crowded.test:8443", [10])));
  const elsewhere = await endpoint(randomUUID(), "quiet.test", [1]);
  const taken = await take({
    free: { quick: 20, other: 20, active: 100 },
    maxPerHost: 22,
    hosts: new Map([["crowded.test:8443", held(10)]]),
  });
  expect(taken.filter(({ host }) => host === "crowded.test:8443")).toHaveLength(12);
  expect(idsOf(taken)).toContain(elsewhere);
});

it("quick endpoints have reserved places", async () => {
  const org = randomUUID();
  const [quick, slow] = [await endpoint(org, "quick.test", [1, 1, 1]), await endpoint(org, "slow.test", [50])];
  const known: Shares["endpoints"] = new Map([
    [quick, { free: 3, isQuick: true }],
    [slow, { free: 1, isQuick: false }],
  ]);
  expect(idsOf(await take({ endpoints: known, free: { quick: 50, other: 0, active: 50 } }))).toEqual([
    quick,
    quick,
    quick,
  ]);
  expect(idsOf(await take({ endpoints: known }))).toEqual([slow]);
});

it("a leased delivery is not leased again until the lease expires, and not at all when its webhook was disabled", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, (_, nth) => endpoint(randomUUID(), `${nth}.test`, [5])));
  const both = await Promise.all([take(), take(), take()]);
  expect(idsOf(both.flat())).toEqual(ids.toSorted());
  expect(await take()).toEqual([]);
  await database.transaction((tx) => tx.query("update webhooks set generation = 1 where webhook_id = $1", [ids[0]]));
  const later = await takeFirst(database, new Date(now.getTime() + 30_000), 30_000, null, shares({}), 0);
  expect(idsOf(later.taken)).toEqual(ids.slice(1).toSorted());
});
