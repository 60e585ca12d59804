import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createRetryActivities } from "../../src/domains/webhooks/activities.ts";
import { createRetryPlaces } from "../../src/domains/webhooks/retry-places.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { openTestDatabase } from "../support/database.ts";

/** How many places an organization holds when it alone asks for them. */
const HALF = 300;

let database: OpenDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

/** Endpoints of one organization, each with a retry that is due. */
async function retried(orgUuid: string, count: number): Promise<string[]> {
  const webhookIds = Array.from({ length: count }, () => randomUUID());
  await database.transaction(async (tx) => {
    await tx.query(
      `insert into webhooks (webhook_id, org_uuid, scope, url, events, status, secret, created_at, updated_at)
       select id, $2, 'org', 'https://silent.test/', '{*}', 'enabled', '', now(), now() from unnest($1::uuid[]) id`,
      [webhookIds, orgUuid],
    );
    const eventId = `evt_${randomUUID()}`;
    await tx.query("insert into webhook_events (event_id, type, body, created_at) values ($1, 'a.b', '{}', now())", [
      eventId,
    ]);
    await tx.query(
      `insert into webhook_deliveries
         (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at, tries)
       select gen_random_uuid(), $1, id, 'pending', 'retry', now() - interval '1 s', now(), 1
       from unnest($2::uuid[]) id`,
      [eventId, webhookIds],
    );
  });
  return webhookIds;
}

it("silent endpoints of an organization hold half of the places at most, the rest wait, and others go on", async () => {
  const [mine, [theirs = ""]] = [await retried(randomUUID(), HALF + 20), await retried(randomUUID(), 1)];
  const posted = new Set<string>();
  const answers: (() => void)[] = [];
  const config = { schedule: [], timeoutMs: 15_000, secretOverlapMs: 0 };
  const activities = createRetryActivities(
    { database, clock: systemClock, random: systemRandom, config },
    {
      // Endpoints that are silent until the test lets them answer.
      attempt: async ({ webhookId }) => {
        posted.add(webhookId);
        if (webhookId !== theirs) await new Promise<void>((resolve) => void answers.push(resolve));
        return true;
      },
    },
  );
  const attempts = mine.map((webhookId) => activities.attemptDueDeliveries(webhookId));
  await expect.poll(() => posted.size).toBe(HALF);
  const refused = mine.filter((webhookId) => !posted.has(webhookId));
  expect(refused).toHaveLength(20);
  for (const webhookId of refused) {
    const wait = await activities.nextDeliveryRetry(webhookId);
    expect(wait).toBeGreaterThanOrEqual(60_000);
    expect(wait).toBeLessThanOrEqual(120_000);
  }
  expect(await activities.nextDeliveryRetry(theirs)).toBe(0);
  await activities.attemptDueDeliveries(theirs);
  expect(posted.has(theirs)).toBe(true);

  // A place is free as soon as the endpoint has answered.
  answers.splice(0).forEach((answer) => answer());
  await Promise.all(attempts);
  expect(await Promise.all(refused.map((webhookId) => activities.nextDeliveryRetry(webhookId)))).toEqual(
    refused.map(() => 0),
  );
  const rest = refused.map((webhookId) => activities.attemptDueDeliveries(webhookId));
  await expect.poll(() => posted.size).toBe(mine.length + 1);
  answers.splice(0).forEach((answer) => answer());
  await Promise.all(rest);
});

it("a place is left when the attempts fail", async () => {
  const [webhookId = ""] = await retried(randomUUID(), 1);
  const config = { schedule: [], timeoutMs: 15_000, secretOverlapMs: 0 };
  const activities = createRetryActivities(
    { database, clock: systemClock, random: systemRandom, config },
    { attempt: () => Promise.reject(new Error("away")) },
  );
  for (let nth = 0; nth < 2 * HALF; nth++) {
    await database.transaction((tx) =>
      tx.query("update webhook_deliveries set next_attempt_at = now() where webhook_id = $1", [webhookId]),
    );
    await expect(activities.attemptDueDeliveries(webhookId)).rejects.toThrow("away");
  }
});

it("endpoints that were refused come before one that has just had a place, until they no longer ask", () => {
  let at = 0;
  const places = createRetryPlaces(() => at);
  const endpoint = (nth: number) => ({ webhookId: `w${nth}`, orgUuid: "org" });
  for (let nth = 0; nth < HALF; nth++) expect(places.enter(endpoint(nth))).toBe(true);
  expect(places.enter(endpoint(HALF))).toBe(false);
  places.leave(endpoint(0));
  expect(places.hasRoom(endpoint(0))).toBe(false);
  expect(places.enter(endpoint(HALF))).toBe(true);
  // The first one waits now.
  places.leave(endpoint(1));
  expect(places.enter(endpoint(1))).toBe(false);
  expect(places.enter(endpoint(0))).toBe(true);
  places.leave(endpoint(2));
  expect(places.enter(endpoint(2))).toBe(false);
  // The two that were refused have been served elsewhere.
  at += 181_000;
  expect(places.enter(endpoint(3 * HALF))).toBe(true);
});

it("organizations share the places so that none gets the last", () => {
  const places = createRetryPlaces(() => 0);
  const held = Array.from({ length: 12 }, (_, org) => {
    let count = 0;
    while (places.enter({ webhookId: `${org}-${count}`, orgUuid: `${org}` })) count++;
    return count;
  });
  expect(held.slice(0, 8)).toEqual([300, 150, 75, 37, 19, 9, 5, 2]);
  expect(held.reduce((sum, count) => sum + count, 0)).toBeLessThan(600);
});
