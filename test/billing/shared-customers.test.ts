import { afterAll, beforeAll, expect, test } from "vitest";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { billingWorld, bodyOf, checkedOut, confirmed, ofPaddle, paddleEvent, some } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

/** Opens a checkout; returns what it was opened with. */
async function checkout({ token }: Somebody): Promise<{ session: string; own: string | undefined }> {
  const { session } = await checkedOut(world, token, "paddle");
  return { session, own: bodyOf(world.provider.calls.at(-1))["customer_id"] as string | undefined };
}

/** The event of a payment that was made as a customer. */
const paidAs = (session: string, customerId: string | undefined): object =>
  ofPaddle("transaction.completed", 0, {
    id: session,
    customer_id: customerId,
    subscription_id: `sub_${some()}`,
    currency_code: "USD",
    details: { totals: { grand_total: "1100" } },
  });

/** Buys as a customer, as the organization's own when none is given; returns the organization's own. */
async function buy(buyer: Somebody, customerId?: string): Promise<string | undefined> {
  const { session, own } = await checkout(buyer);
  expect((await paddleEvent(world.app, paidAs(session, customerId ?? own))).status).toBe(200);
  return own;
}

const open = ({ token }: Somebody) =>
  world.app.call("POST", "/api/billing/portal-session", { token, body: { provider: "paddle" } });

/** The customer whose portal was opened last. */
const opened = (): string | undefined => world.provider.calls.at(-1)?.path.split("/")[2];

const shared = { status: 409, body: { code: "conflict", message: expect.stringContaining("Another organization") } };
const unknown = { status: 409, body: { code: "conflict", message: expect.stringContaining("has no customer") } };

test("an organization has a customer of its own at Paddle, as which it buys everything", async () => {
  const buyer = await confirmed(world.app);
  const first = await buy(buyer);
  expect(first).toMatch(/^ctm_\w+$/u);
  expect(world.provider.ledger.addresses.get(buyer.email)).toEqual({ id: first, organization: buyer.org });
  expect(await buy(buyer)).toBe(first);
  expect((await open(buyer)).status).toBe(200);
  expect(opened()).toBe(first);
});

test("checkouts that are opened at the same time share the customer", async () => {
  const buyer = await confirmed(world.app);
  const before = world.provider.calls.length;
  await Promise.all(Array.from({ length: 5 }, () => checkedOut(world, buyer.token, "paddle")));
  const calls = world.provider.calls.slice(before).filter(({ path }) => path === "/transactions");
  const { id } = world.provider.ledger.addresses.get(buyer.email) ?? {};
  expect(calls.map((call) => bodyOf(call)["customer_id"])).toEqual([id, id, id, id, id]);
});

test("checkouts that two people of an organization open at the same time are those of one customer", async () => {
  const teams = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const owner = await confirmed(world.app);
      return [owner, await member(world.app, owner, 1)];
    }),
  );
  for (const team of teams) {
    const before = world.provider.calls.length;
    const opened = await Promise.all(team.map(({ token }) => checkedOut(world, token, "paddle")));
    const calls = world.provider.calls.slice(before).filter(({ path }) => path === "/transactions");
    const [first, second] = calls.map((call) => bodyOf(call)["customer_id"]);
    expect(first).toMatch(/^ctm_\w+$/u);
    expect(second).toBe(first);
    for (const { session } of opened)
      expect((await paddleEvent(world.app, paidAs(session, String(first)))).status).toBe(200);
    const [owner] = team;
    expect(owner && (await open(owner)).status).toBe(200);
  }
});

test("who types the email of somebody else at the checkout does not open the portal of that one", async () => {
  const stranger = `ctm_${some()}`;
  world.provider.ledger.customers.add(stranger);
  const [buyer, unconfirmed] = [await confirmed(world.app), await founder(world.app)];
  const own = await buy(buyer, stranger);
  expect((await open(buyer)).status).toBe(200);
  expect(opened()).toBe(own);
  expect(await buy(unconfirmed, `ctm_${some()}`)).toBeUndefined();
  expect(await open(unconfirmed)).toMatchObject(unknown);
});

test("an organization has no customer whose email is that of a customer of something else", async () => {
  const buyer = await confirmed(world.app);
  const known = { id: `ctm_${some()}`, organization: undefined };
  world.provider.ledger.customers.add(known.id);
  world.provider.ledger.addresses.set(buyer.email, known);
  expect(await buy(buyer, known.id)).toBeUndefined();
  expect(await open(buyer)).toMatchObject(unknown);
});

test("a customer whom Paddle has no more is replaced with the next purchase", async () => {
  const buyer = await confirmed(world.app);
  const first = await buy(buyer);
  world.provider.ledger.customers.delete(first ?? "");
  world.provider.ledger.addresses.delete(buyer.email);
  expect(await open(buyer)).toMatchObject(unknown);
  const second = await buy(buyer);
  expect(second).toMatch(/^ctm_\w+$/u);
  expect(second).not.toBe(first);
  expect((await open(buyer)).status).toBe(200);
  expect(opened()).toBe(second);
});

test("a customer as which another organization paid opens its portal no more, and that one keeps its own", async () => {
  const [first, second] = [await confirmed(world.app), await confirmed(world.app)];
  const theirs = await buy(first);
  expect((await open(first)).status).toBe(200);
  const own = await buy(second, theirs);
  const calls = world.provider.calls.length;
  expect(await open(first)).toMatchObject(shared);
  expect(world.provider.calls).toHaveLength(calls);
  expect((await open(second)).status).toBe(200);
  expect(opened()).toBe(own);
});

test("a customer as which two organizations pay at the same time opens its portal for neither", async () => {
  const [owner, other] = [await confirmed(world.app), await founder(world.app)];
  const { session, own } = await checkout(owner);
  const { session: others } = await checkout(other);
  const answers = await Promise.all([session, others].map((one) => paddleEvent(world.app, paidAs(one, own))));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await open(owner)).toMatchObject(shared);
  expect(await open(other)).toMatchObject(unknown);
});

test("an organization does not open the portal of a person who stored a card in another one", async () => {
  const [person, buyer] = [await founder(world.app), await founder(world.app)];
  const persons = `ctm_${some()}`;
  world.provider.ledger.customers.add(persons);
  world.provider.ledger.addresses.set(person.email, { id: persons, organization: undefined });
  const body = { provider: "paddle", payment_method_token: "paymtd_own" };
  expect((await world.app.call("POST", "/api/billing/cards", { token: person.token, body })).status).toBe(201);
  expect((await open(person)).status).toBe(200);
  expect(opened()).toBe(persons);
  await buy(buyer, persons);
  expect(await open(buyer)).toMatchObject(unknown);
  expect(await open(person)).toMatchObject(shared);
});
