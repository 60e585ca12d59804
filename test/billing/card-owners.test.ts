import { afterAll, beforeAll, expect, test } from "vitest";
import { founder, member } from "../support/people.ts";
import { billingWorld } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

test("a card of another member of the organization is unknown, and stays as it is", async () => {
  const { app } = world;
  const owner = await founder(app);
  const admin = await member(app, owner, 1);
  const add = async (token: string, payment_method_token: string) =>
    (await app.call("POST", "/api/billing/cards", { token, body: { provider: "stripe", payment_method_token } })).body;
  const cards = async (token: string) => (await app.call("GET", "/api/billing/cards", { token })).body.data;
  const [theirs, own] = [await add(owner.token, "pm_theirs"), await add(admin.token, "pm_own")];
  for (const [method, path, body] of [
    ["DELETE", `/api/billing/cards/${theirs.id}`, undefined],
    ["PUT", "/api/billing/cards/default", { card_id: theirs.id }],
  ] as const) {
    const answer = await app.call(method, path, { token: admin.token, body });
    expect(answer, method).toMatchObject({ status: 404, body: { code: "card_not_found" } });
  }
  expect(await cards(admin.token)).toEqual([own]);
  expect(await cards(owner.token)).toEqual([theirs]);
});
