import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { billingWorld, checkedOut, lifeAt, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ role: "all", temporal: await temporalServer() });
});
afterAll(() => world.close());

/** Makes the database refuse the payments of these quotes. */
async function refuse(quoteIds: readonly string[]): Promise<void> {
  const list = quoteIds.map((id) => `'${id}'::uuid`).join(", ");
  const sql = `create or replace function refused_payment() returns trigger language plpgsql as $$ begin
    if new.quote_id = any (array[${list}]) then raise exception 'refused'; end if; return new; end $$`;
  await runSql(world.app.databaseUrl, sql);
}

test("an event that cannot be applied holds up none that came after it", async () => {
  const [first, second] = [await founder(world.app), await founder(world.app)];
  const bought = [
    await checkedOut(world, first.token, "stripe"),
    await checkedOut(world, second.token, "stripe"),
  ] as const;
  await refuse(bought.map(({ quoteId }) => quoteId));
  await runSql(
    world.app.databaseUrl,
    "create trigger refused before insert on payments for each row execute function refused_payment()",
  );
  for (const { session } of bought) {
    const life = lifeAt(session);
    for (const event of [life.completed, life.paid]) expect((await stripeEvent(world.app, event)).status).toBe(200);
  }
  await refuse([bought[0].quoteId]);
  const planOf = async ({ token, org }: { token: string; org: string }): Promise<string> =>
    (await world.app.call("GET", `/api/organizations/${org}`, { token })).body.plan as string;
  await expect.poll(() => planOf(second), { timeout: 120_000, interval: 200 }).toBe("pro");
  expect(await planOf(first)).toBe("free");
  await refuse(["00000000-0000-4000-8000-000000000000"]);
  await expect.poll(() => planOf(first), { timeout: 120_000, interval: 200 }).toBe("pro");
});
