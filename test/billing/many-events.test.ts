import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { billingWorld, checkedOut, lifeAt, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ env: { SERVICE_RATE_LIMITS: "off" } });
});
afterAll(() => world.close());

test("a subscription whose state has changed ten thousand times is renewed, and ends", async () => {
  const { token, org } = await founder(world.app);
  const { quoteId, session } = await checkedOut(world, token, "stripe");
  const life = lifeAt(session);
  const send = async (event: object): Promise<void> => {
    expect(await stripeEvent(world.app, event)).toMatchObject({ status: 200, body: { received: true } });
  };
  const read = async (path: string) => (await world.app.call("GET", path, { token })).body;
  for (const event of [life.completed, life.created, life.paid, life.ending]) await send(event);
  const repeated = `insert into provider_events
      (provider, event_id, type, occurred_at, received_at, ids, facts, body, quote_id)
    select provider, event_id || n, type, occurred_at + n * interval '1 second', received_at, ids, facts, body, quote_id
    from provider_events, generate_series(1, 10001) n where quote_id = $1 and event_id = $2`;
  await runSql(world.app.databaseUrl, repeated, [quoteId, life.ending.id]);

  await send(life.renewed);
  expect((await read("/api/billing/history")).data).toHaveLength(2);
  await send(life.ended);
  expect((await read("/api/billing/subscriptions")).data).toMatchObject([{ status: "canceled" }]);
  expect((await read(`/api/organizations/${org}`)).plan).toBe("free");
});
