import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { act, billingWorld, checkedOut } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

/** An organization with somebody whose only power is the permission `billing:write` of a role. */
async function accountant(): Promise<{ owner: Somebody; token: string; take: () => Promise<string> }> {
  const owner = await founder(world.app);
  const call = (method: string, path: string, body?: object) =>
    world.app.call(method, path, { token: owner.token, ...(body !== undefined && { body }) });
  const { body: catalogue } = await call("GET", "/api/roles/permissions");
  const write = (catalogue.data as { id: number; name: string }[]).find(({ name }) => name === "billing:write");
  const made = await call("POST", "/api/v2/products/books/roles", {
    name: "accountant",
    permissions: [{ id: write?.id }],
  });
  expect(made.status).toBe(200);
  const role = made.body.data.id as number;
  const { token } = await member(world.app, owner, role);
  const take = async () => outcome(await call("PUT", `/api/roles/${role}/permissions`, { permissions: [] }));
  return { owner, token, take };
}

/** The outcome of a request that waits for a table while its caller's permission is taken away. */
async function outcomeOf(open: () => Promise<Answer>, table: string, take: () => Promise<string>): Promise<string> {
  const held = await holding(world.app.databaseUrl);
  await held.run(`lock table ${table} in access exclusive mode`);
  const opening = open();
  try {
    await held.waitedFor();
    expect(await take()).toBe("200");
  } finally {
    await held.commit();
  }
  return outcome(await opening);
}

test("who loses the permission while their checkout is being opened does not get it", async () => {
  const { token, take } = await accountant();
  const post = (path: string, body: object) => world.app.call("POST", path, { token, body });
  const { body: quote } = await post("/api/pricing/quote", { price_id: world.priceId });
  const open = () => post("/api/pricing/checkout-session", { quote_id: quote.quote_id, provider: "stripe" });
  expect(await outcomeOf(open, "quotes", take)).toBe("403 forbidden");
});

test("who loses the permission while their portal session is being opened does not get it", async () => {
  const { owner, token, take } = await accountant();
  await act((await checkedOut(world, owner.token, "stripe")).url, "pay");
  await world.provider.settled();
  const open = () => world.app.call("POST", "/api/billing/portal-session", { token, body: { provider: "stripe" } });
  expect(await outcomeOf(open, "billing_customers", take)).toBe("403 forbidden");
});
