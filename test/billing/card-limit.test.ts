import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { billingWorld, some } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

const add = ({ token }: Somebody, method: string) =>
  world.app.call("POST", "/api/billing/cards", { token, body: { provider: "stripe", payment_method_token: method } });

/** Payment methods that are attached at the provider, of those with this beginning. */
const attached = (beginning: string): string[] =>
  [...world.provider.ledger.methods.values()].flatMap((methods) =>
    [...methods].filter((method) => method.startsWith(beginning)),
  );

/** Stores cards of a person besides those that they have. */
async function store({ org, userUuid }: Somebody, count: number): Promise<void> {
  await runSql(
    world.app.databaseUrl,
    `insert into cards (id, org_uuid, user_uuid, provider, external_id, brand, last4, exp_month, exp_year, is_default,
       created_at)
     select gen_random_uuid(), $1, $2, 'stripe', 'pm_stored' || n, 'visa', '4242', 12, 2031, false, now()
     from generate_series(1, $3) n`,
    [org, userUuid, count],
  );
}

test("the fifty-first card is refused before it is attached, and one that is stored is not", async () => {
  const person = await founder(world.app);
  const mark = `pm_${some()}`;
  const first = await add(person, `${mark}_first`);
  expect(first.status).toBe(201);
  await store(person, 49);
  expect(await add(person, `${mark}_more`)).toMatchObject({ status: 409, body: { code: "conflict" } });
  expect(attached(mark)).toEqual([`${mark}_first`]);
  expect(await add(person, `${mark}_first`)).toMatchObject({ status: 201, body: { id: first.body.id } });
});

test("of cards that are added at the same time, those beyond the fiftieth are detached again", async () => {
  const person = await founder(world.app);
  const mark = `pm_${some()}`;
  expect((await add(person, `${mark}_first`)).status).toBe(201);
  await store(person, 48);
  const tokens = ["a", "b", "c"].map((nth) => `${mark}_${nth}`);
  const answers = await Promise.all(tokens.map((token) => add(person, token)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  const stored = tokens.filter((_token, nth) => answers[nth]?.status === 201);
  expect(attached(mark).sort()).toEqual([...stored, `${mark}_first`].sort());
});

test("a method whose card cannot be stored is detached again", async () => {
  const person = await founder(world.app);
  await runSql(
    world.app.databaseUrl,
    `create or replace function refused_card() returns trigger language plpgsql as $$ begin
       if new.external_id = 'pm_refused' then raise exception 'refused'; end if; return new; end $$;
     create or replace trigger refused before insert on cards for each row execute function refused_card()`,
  );
  expect((await add(person, "pm_refused")).status).toBe(500);
  expect(attached("pm_refused")).toEqual([]);
  expect(world.provider.calls.at(-1)?.path).toBe("/v1/payment_methods/pm_refused/detach");
});
