import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { elevated, founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { publishApp } from "../matrix/world.ts";
import { act, billingWorld, checkedOut } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ role: "all", temporal: await temporalServer() });
});
afterAll(() => world.close());

/** Waits until a condition holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50)))
    if (await holds()) return;
  throw new Error("it never happened");
}

/** Subscriptions of an organization by what the service has stored: nobody can ask for those of a deleted one. */
const stored = (org: string) =>
  runSql<{ external_id: string; status: string; cancel_at_period_end: boolean }>(
    world.app.databaseUrl,
    "select external_id, status, cancel_at_period_end from subscriptions where org_uuid = $1 order by created_at",
    [org],
  );

/** Whether the provider ends every subscription of an organization with its period. */
async function allEnd(org: string, count = 1): Promise<boolean> {
  const rows = await stored(org);
  const { subscriptions } = world.provider.ledger;
  return (
    rows.length === count &&
    rows.every(({ external_id: id, cancel_at_period_end: ends }) => ends && subscriptions.get(id)?.isEnding)
  );
}

async function remove({ token, org }: { token: string; org: string }): Promise<void> {
  const { status } = await world.app.call("DELETE", `/api/organizations/${org}`, {
    token: await elevated(world.app, token),
  });
  expect(status).toBe(204);
}

/** Audit events that an organization's subscriptions end, as platform admins read them. */
async function endsRecorded(org: string, reason = "organization_deleted"): Promise<number> {
  const rows = await runSql(
    world.app.databaseUrl,
    `select 1 from audit_events where org_uuid = $1 and type = 'subscription.changed'
       and metadata ->> 'reason' = $2`,
    [org, reason],
  );
  return rows.length;
}

describe.each(["stripe", "paddle"] as const)("an organization that is deleted, with %s", (provider) => {
  test("has its open checkouts closed at the provider, so that nobody pays for what is gone", async () => {
    const buyer = await founder(world.app);
    const { url } = await checkedOut(world, buyer.token, provider);
    expect((await fetch(url)).status).toBe(200);
    await remove(buyer);
    await until(async () => (await fetch(url)).status === 410);
    expect(await stored(buyer.org)).toEqual([]);
  });

  test("has its subscriptions cancelled at the provider, also one that is paid before its checkout is closed", async () => {
    const buyer = await founder(world.app);
    const { url } = await checkedOut(world, buyer.token, provider);
    const late = await checkedOut(world, buyer.token, provider);
    // Not known when the organization ends.
    const session = "update checkouts set session_id = $2 where session_id = $1";
    await runSql(world.app.databaseUrl, session, [late.session, `${late.session}_x`]);
    await act(url, "pay");
    await world.provider.settled();
    expect(await stored(buyer.org)).toMatchObject([{ status: "active", cancel_at_period_end: false }]);
    await remove(buyer);
    await until(() => allEnd(buyer.org));
    expect(await endsRecorded(buyer.org)).toBe(1);
    await act(late.url, "pay");
    await world.provider.settled();
    await until(() => allEnd(buyer.org, 2));
    expect(await endsRecorded(buyer.org)).toBe(2);
  });

  test("has its subscriptions cancelled as soon as a provider that fails works again", async () => {
    const buyer = await founder(world.app);
    const { url } = await checkedOut(world, buyer.token, provider);
    await act(url, "pay");
    await world.provider.settled();
    world.provider.mode = "broken";
    await remove(buyer);
    await until(
      async () =>
        (
          await runSql(
            world.app.databaseUrl,
            "select 1 from outbox where topic = 'subscription.left' and attempts > 0 and payload ->> 'org_uuid' = $1",
            [buyer.org],
          )
        ).length > 0,
    );
    expect(await stored(buyer.org)).toMatchObject([{ status: "active", cancel_at_period_end: false }]);
    world.provider.mode = "working";
    for (let second = 0; second < 3_000 && !(await allEnd(buyer.org)); second++) {
      world.app.clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await allEnd(buyer.org)).toBe(true);
  });
});

test("a subscription of a deleted organization that its provider does not know any more is canceled", async () => {
  const buyer = await founder(world.app);
  const { url } = await checkedOut(world, buyer.token, "stripe");
  await act(url, "pay");
  await world.provider.settled();
  const [subscription] = await stored(buyer.org);
  expect(world.provider.ledger.subscriptions.delete(subscription?.external_id ?? "")).toBe(true);
  await remove(buyer);
  await until(async () => (await stored(buyer.org))[0]?.status === "canceled");
  const recorded = await runSql(
    world.app.databaseUrl,
    `select 1 from audit_events where org_uuid = $1 and type = 'subscription.canceled'
       and metadata ->> 'reason' = 'unknown_at_provider'`,
    [buyer.org],
  );
  expect(recorded).toHaveLength(1);
});

test.each(["stripe", "paddle"])(
  "an install that is deprovisioned has its checkouts closed, and also what is paid afterwards cancelled, with %s",
  async (provider) => {
    const [publisher, buyer] = [await founder(world.app), await founder(world.app)];
    const { slug } = await publishApp(world.app, publisher.token, world.admin);
    const post = (path: string, body: object) => world.app.call("POST", path, { token: buyer.token, body });
    const { install_id: installId } = (await post(`/api/marketplace/${slug}/install`, {})).body;
    const checkout = async (): Promise<string> => {
      const quote = await post("/api/pricing/quote", { install_id: installId });
      const session = await post("/api/pricing/checkout-session", { quote_id: quote.body.quote_id, provider });
      return session.body.url as string;
    };
    const unused = (await post("/api/pricing/quote", { install_id: installId })).body.quote_id as string;
    const [first, late, open] = [await checkout(), await checkout(), await checkout()];
    // Not known when the install ends.
    const forget = "update checkouts set session_id = session_id || '_x' where url = $1";
    await runSql(world.app.databaseUrl, forget, [late]);
    await act(first, "pay");
    await world.provider.settled();
    expect(await stored(buyer.org)).toMatchObject([{ status: "active", cancel_at_period_end: false }]);
    const ended = await world.app.call("DELETE", `/api/installs/${installId}`, { token: buyer.token });
    expect(ended.status).toBe(202);
    expect(await post("/api/pricing/checkout-session", { quote_id: unused, provider })).toMatchObject({
      status: 410,
      body: { code: "quote_expired" },
    });
    await until(() => allEnd(buyer.org));
    expect(await endsRecorded(buyer.org, "install_deprovisioned")).toBe(1);
    await until(async () => (await fetch(open)).status === 410);
    await act(late, "pay");
    await world.provider.settled();
    await until(() => allEnd(buyer.org, 2));
    expect(await endsRecorded(buyer.org, "install_deprovisioned")).toBe(2);
  },
);
