import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { billingWorld, checkedOut, ofPaddle, paddleEvent, some } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

/** A customer that the provider has. */
function customer(): string {
  const id = `ctm_${some()}`;
  world.provider.ledger.customers.add(id);
  return id;
}

/** A payment of an organization, by which it pays as a customer: the event that says so. */
async function payment(buyer: Somebody, customerId: string, second = 0): Promise<object> {
  const { session } = await checkedOut(world, buyer.token, "paddle");
  return ofPaddle("transaction.completed", second, {
    id: session,
    customer_id: customerId,
    subscription_id: `sub_${some()}`,
    currency_code: "USD",
    details: { totals: { grand_total: "1100" } },
  });
}

async function pay(buyer: Somebody, customerId: string, second = 0): Promise<void> {
  expect((await paddleEvent(world.app, await payment(buyer, customerId, second))).status).toBe(200);
}

const open = ({ token }: Somebody) =>
  world.app.call("POST", "/api/billing/portal-session", { token, body: { provider: "paddle" } });

/** The customer whose portal was opened last. */
const opened = (): string | undefined => world.provider.calls.at(-1)?.path.split("/")[2];

const shared = { status: 409, body: { code: "conflict", message: expect.stringContaining("Another organization") } };

test("a customer that two organizations paid as opens its portal for neither", async () => {
  const [first, second] = [await founder(world.app), await founder(world.app)];
  const theirs = customer();
  await pay(first, theirs);
  expect((await open(first)).status).toBe(200);
  await pay(second, theirs);
  const calls = world.provider.calls.length;
  for (const buyer of [second, first]) expect(await open(buyer)).toMatchObject(shared);
  expect(world.provider.calls).toHaveLength(calls);
});

test("an organization keeps its customer when it pays as that of another one", async () => {
  const [owner, other] = [await founder(world.app), await founder(world.app)];
  const [owners, own] = [customer(), customer()];
  await pay(owner, owners);
  await pay(other, own, 1);
  await pay(other, owners, 2);
  expect((await open(other)).status).toBe(200);
  expect(opened()).toBe(own);
  expect(await open(owner)).toMatchObject(shared);
  const another = customer();
  await pay(owner, another, 3);
  expect((await open(owner)).status).toBe(200);
  expect(opened()).toBe(another);
});

test("two organizations that pay as one customer at the same time open its portal for neither", async () => {
  const theirs = customer();
  const buyers = [await founder(world.app), await founder(world.app)];
  const payments = [];
  for (const buyer of buyers) payments.push(await payment(buyer, theirs));
  const answers = await Promise.all(payments.map((event) => paddleEvent(world.app, event)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  for (const buyer of buyers) expect(await open(buyer)).toMatchObject(shared);
});

test("an organization does not open the portal of a person who stored a card in another one", async () => {
  const [person, buyer] = [await founder(world.app), await founder(world.app)];
  const body = { provider: "paddle", payment_method_token: "paymtd_own" };
  expect((await world.app.call("POST", "/api/billing/cards", { token: person.token, body })).status).toBe(201);
  expect((await open(person)).status).toBe(200);
  const persons = opened() ?? "";
  await pay(buyer, persons);
  for (const somebody of [buyer, person]) expect(await open(somebody)).toMatchObject(shared);
});
