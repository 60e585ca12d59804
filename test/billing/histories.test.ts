import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { billingWorld, checkedOut, ofPaddle, paddleEvent, some } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

const paid = (id: string, subscription: string, second: number) =>
  ofPaddle("transaction.completed", second, {
    id,
    subscription_id: subscription,
    currency_code: "USD",
    details: { totals: { grand_total: "1100" } },
  });

const refund = (transaction: string, second: number, total: string) =>
  ofPaddle("adjustment.created", second, {
    id: `adj_${some()}`,
    action: "refund",
    status: "approved",
    transaction_id: transaction,
    totals: { total },
  });

test("the payments of a subscription have ids one after the other, and change by later events", async () => {
  const buyer = await founder(world.app);
  const { session } = await checkedOut(world, buyer.token, "paddle");
  const subscription = `sub_${some()}`;
  const renewals = Array.from({ length: 5 }, () => `txn_${some()}`);
  for (const [nth, id] of [session, ...renewals].entries())
    expect((await paddleEvent(world.app, paid(id, subscription, nth * 100))).status).toBe(200);
  await paddleEvent(world.app, refund(session, 1_000, "400"));
  const last = await checkedOut(world, buyer.token, "paddle");
  await paddleEvent(world.app, paid(last.session, `sub_${some()}`, 2_000));
  const history = await world.app.call("GET", "/api/billing/history", { token: buyer.token });
  const rows = (history.body.data as { id: number; refunded_amount: number }[]).sort((one, two) => one.id - two.id);
  const first = rows[0]?.id ?? 0;
  expect(rows.map(({ id }) => id - first)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(rows.map(({ refunded_amount: amount }) => amount)).toEqual([400, 0, 0, 0, 0, 0, 0]);
});

test("a payment that was paid back before it is applied sends invoice.paid, once", async () => {
  const buyer = await founder(world.app);
  const body = { url: "http://127.0.0.1:9/hook", events: ["invoice.paid", "invoice.payment_failed"] };
  const { body: webhook } = await world.app.call("POST", "/api/v2/webhooks", { token: buyer.token, body });
  const { session } = await checkedOut(world, buyer.token, "paddle");
  await paddleEvent(world.app, refund(session, 10, "700"));
  await paddleEvent(world.app, refund(session, 11, "400"));
  expect((await paddleEvent(world.app, paid(session, `sub_${some()}`, 0))).status).toBe(200);
  await paddleEvent(world.app, refund(session, 12, "1"));
  const history = await world.app.call("GET", "/api/billing/history", { token: buyer.token });
  expect(history.body.data).toMatchObject([{ status: "refunded", refunded_amount: 1_100 }]);
  const path = `/api/v2/webhooks/${webhook.webhook_id as string}/deliveries`;
  const { data } = (await world.app.call("GET", path, { token: buyer.token })).body;
  expect((data as { event_type: string }[]).map(({ event_type: type }) => type)).toEqual(["invoice.paid"]);
});
