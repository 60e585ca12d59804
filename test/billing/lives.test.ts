import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { randomOf } from "../support/random-of.ts";
import { billingWorld, checkedOut, lifeAt, START, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

/** Random lives of a subscription; `.ci/run` tries more. */
const CASES = Number(process.env["PAYMENT_CASES"] ?? 200);
/** Purchases of one organization, and how many of them have their events arrive at the same time. */
const [BATCH, LANES] = [24, 3];

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ env: { SERVICE_RATE_LIMITS: "off" } });
});
afterAll(() => world.close());

/** What may happen in a life beside its first payment, a bit each. */
const [FAILS, RENEWS, ENDING, ENDED] = [1, 2, 4, 8];
const KINDS = 16;

/** Events of a life of this kind, in the order in which they happened. */
function eventsOf(kind: number, session: string): { id: string; type: string }[] {
  const life = lifeAt(session);
  return [
    life.completed,
    life.created,
    life.paid,
    ...(kind & FAILS ? [life.failed, life.pastDue] : []),
    ...(kind & RENEWS ? [life.renewed] : []),
    ...(kind & ENDING ? [life.ending] : []),
    ...(kind & ENDED ? [life.ended] : []),
  ];
}

/** All of them in a random order, and up to as many again anywhere between. */
function disorder<T>(all: readonly T[], next: (below: number) => number): T[] {
  const order: T[] = [];
  for (const one of all) order.splice(next(order.length + 1), 0, one);
  for (let more = next(all.length + 1); more > 0; more--)
    order.splice(next(order.length + 1), 0, all[next(all.length)] as T);
  return order;
}

interface Purchase {
  quoteId: string;
  /** Types of the events, in the order of their delivery. */
  delivered: string[];
}

async function live(buyer: Somebody, kind: number, seed?: number): Promise<Purchase> {
  const { quoteId, session } = await checkedOut(world, buyer.token, "stripe");
  const inOrder = eventsOf(kind, session);
  const events = seed === undefined ? inOrder : disorder(inOrder, randomOf(seed + 1).below);
  for (const event of events)
    expect(await stripeEvent(world.app, event)).toMatchObject({ status: 200, body: { received: true } });
  return { quoteId, delivered: events.map(({ type }) => type) };
}

/** What an organization sees of its purchases, by quote, without ids; and its plan. */
async function readAll({ org, token }: Somebody, purchases: readonly Purchase[]) {
  const read = async (path: string) => (await world.app.call("GET", path, { token })).body;
  type Rows = Record<string, unknown>[];
  const history = (await read("/api/billing/history?limit=200")).data as Rows;
  const subscriptions = (await read("/api/billing/subscriptions?limit=200")).data as Rows;
  const states = purchases.map(({ quoteId }) => {
    const id = history.find(({ quote_id }) => quote_id === quoteId)?.["subscription_id"];
    const payments = history
      .filter(({ subscription_id }) => subscription_id === id)
      .map(({ amount, status, period_start, quote_id }) => ({ amount, status, period_start, first: quote_id !== null }))
      .sort((one, other) => String(one.period_start).localeCompare(String(other.period_start)));
    const { status, plan, current_period_end, cancel_at_period_end } =
      subscriptions.find(({ subscription_id }) => subscription_id === id) ?? {};
    return { payments, status, plan, current_period_end, cancel_at_period_end };
  });
  return { states, plan: (await read(`/api/organizations/${org}`)).plan as string, count: subscriptions.length };
}

const time = (seconds: number): string => new Date(seconds * 1_000).toISOString().replace(".000", "");

const timeout = 600_000 + CASES * 2_000;

test(`any order and number of the same events ends in the same state, over ${CASES} random lives`, {
  timeout,
}, async () => {
  const kinds = Array.from({ length: KINDS }, (_, kind) => kind);
  const orderly = await founder(world.app);
  const reference: Purchase[] = [];
  for (const kind of kinds) reference.push(await live(orderly, kind));
  const { states: expected } = await readAll(orderly, reference);
  for (const [kind, state] of expected.entries())
    expect(state, `kind ${kind}`).toMatchObject({
      payments: [
        { amount: 1_100, status: "paid", period_start: time(START), first: true },
        ...(kind & (FAILS | RENEWS) ? [{ status: kind & RENEWS ? "paid" : "failed", first: false }] : []),
      ],
      plan: "pro",
      status: kind & ENDED ? "canceled" : kind & FAILS && !(kind & (RENEWS | ENDING)) ? "past_due" : "active",
      cancel_at_period_end: (kind & ENDING) > 0 && !(kind & ENDED),
      current_period_end: time(START + (kind & RENEWS ? 2 : 1) * 2_592_000),
    });

  for (let first = 0; first < CASES; first += BATCH) {
    const seeds = Array.from({ length: Math.min(BATCH, CASES - first) }, (_, nth) => first + nth);
    const buyer = await founder(world.app);
    const purchases: Purchase[] = [];
    for (let from = 0; from < seeds.length; from += LANES) {
      const some = seeds.slice(from, from + LANES);
      purchases.push(...(await Promise.all(some.map((seed) => live(buyer, seed % KINDS, seed)))));
    }
    const { states, plan, count } = await readAll(buyer, purchases);
    for (const [nth, seed] of seeds.entries())
      expect(states[nth], `life ${seed}: ${purchases[nth]?.delivered.join(", ")}`).toEqual(expected[seed % KINDS]);
    expect(count).toBe(seeds.length);
    expect(plan).toBe(states.some(({ status }) => status !== "canceled") ? "pro" : "free");
  }
});
