import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { act, billingWorld, checkedOut } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ role: "all", temporal: await temporalServer() });
});
afterAll(() => world.close());

const request = async (body: object = {}) =>
  world.app.call("POST", "/api/operator/billing/reconcile", { token: await world.app.login(), body });

/** Waits for the end of a run; returns its row. */
async function finished(workflowId: string): Promise<{ seen: number; repaired: number }> {
  const id = workflowId.replace("billing/reconcile/", "");
  for (const end = Date.now() + 120_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const [row] = await runSql<{ seen: number; repaired: number }>(
      world.app.databaseUrl,
      "select seen, repaired from reconciliations where id = $1 and finished_at is not null",
      [id],
    );
    if (row !== undefined) return row;
  }
  throw new Error(`${workflowId} never ended`);
}

async function stateOf(token: string) {
  const read = async (path: string) => (await world.app.call("GET", path, { token })).body.data as object[];
  return { subscriptions: await read("/api/billing/subscriptions"), history: await read("/api/billing/history") };
}

describe("reconciliation", () => {
  test.each(["stripe", "paddle"] as const)(
    "a payment whose webhooks never came is repaired once, with %s",
    async (name) => {
      const buyer = await founder(world.app);
      const { url } = await checkedOut(world, buyer.token, name);
      world.provider.losesWebhooks = true;
      await act(url, "pay");
      world.provider.losesWebhooks = false;
      expect(await stateOf(buyer.token)).toEqual({ subscriptions: [], history: [] });
      const first = await request({ provider: name });
      expect(first).toMatchObject({
        status: 202,
        body: { workflow_id: expect.stringMatching(/^billing\/reconcile\/[0-9a-f-]{36}$/u) },
      });
      expect((await finished(first.body.workflow_id)).repaired).toBeGreaterThan(0);
      const repaired = await stateOf(buyer.token);
      expect(repaired).toMatchObject({ subscriptions: [{ status: "active" }], history: [{ status: "paid" }] });
      const second = await request();
      expect((await finished(second.body.workflow_id)).repaired).toBe(0);
      expect(await stateOf(buyer.token)).toEqual(repaired);
    },
  );

  test("only the asked period is repaired, over more than one page", async () => {
    const buyer = await founder(world.app);
    const { url } = await checkedOut(world, buyer.token, "stripe");
    world.provider.losesWebhooks = true;
    await act(url, "pay");
    const [subscription] = [...world.provider.ledger.subscriptions.values()].slice(-1);
    for (let nth = 0; nth < 120; nth++) if (subscription !== undefined) world.provider.acts.renew(subscription, true);
    world.provider.losesWebhooks = false;
    const now = world.app.clock.now();
    const day = (days: number): string => new Date(now + days * 86_400_000).toISOString();
    const before = await request({ provider: "stripe", from: day(-3), to: day(-2) });
    expect(await finished(before.body.workflow_id)).toMatchObject({ seen: 0, repaired: 0 });
    const all = await request({ provider: "stripe" });
    expect((await finished(all.body.workflow_id)).repaired).toBe(364);
    const { body } = await world.app.call("GET", "/api/billing/history?limit=1", { token: buyer.token });
    expect(body.total).toBe(121);
  });

  test("a run that was interrupted in the middle of a page continues to its end", async () => {
    const buyer = await founder(world.app);
    const { url } = await checkedOut(world, buyer.token, "stripe");
    world.provider.losesWebhooks = true;
    await act(url, "pay");
    world.provider.losesWebhooks = false;
    await world.app.login();
    world.provider.mode = "broken";
    const asked = await request({ provider: "stripe" });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await stateOf(buyer.token)).toEqual({ subscriptions: [], history: [] });
    world.provider.mode = "working";
    expect((await finished(asked.body.workflow_id)).repaired).toBeGreaterThan(0);
    expect(await stateOf(buyer.token)).toMatchObject({ subscriptions: [{ status: "active" }] });
  });

  test("a request without a body reconciles the providers that are configured", async () => {
    const token = await world.app.login();
    const started = await world.app.call("POST", "/api/operator/billing/reconcile", { token });
    expect(started).toMatchObject({ status: 202, body: { workflow_id: expect.any(String) } });
    await finished(started.body.workflow_id);
  });

  test("refusals come in the documented order", async () => {
    for (const [body, status, code] of [
      [{ provider: "paypal" }, 404, "provider_unknown"],
      [{ from: "2026-02-02", to: "2026-02-01" }, 400, "validation_error"],
      [{ from: "yesterday" }, 400, "validation_error"],
      [{ from: "2016-12-31T23:59:60Z" }, 400, "validation_error"],
    ] as const)
      expect(await request(body), JSON.stringify(body)).toMatchObject({ status, body: { code } });
    const token = world.buyer.token;
    const refused = await world.app.call("POST", "/api/operator/billing/reconcile", { token, body: {} });
    expect(refused).toMatchObject({ status: 403, body: { code: "forbidden" } });
    const other = await startApp({});
    try {
      for (const body of [{}, { provider: "paddle" }])
        expect(
          await other.call("POST", "/api/operator/billing/reconcile", { token: await other.login(), body }),
        ).toMatchObject({ status: 503, body: { code: "provider_not_configured" } });
    } finally {
      await other.close();
    }
  });
});
