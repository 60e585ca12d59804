import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

describeInBrowser("what buying shows", () => {
  const here = surroundings(
    {
      SERVICE_RATE_LIMITS: "off",
      SERVICE_STRIPE_SECRET_KEY: "sk_test_key",
      SERVICE_STRIPE_WEBHOOK_SECRET: "whsec_x",
      SERVICE_TRUSTED_PROXIES: "127.0.0.1",
    },
    "serve",
  );

  it("a quote of another region shows its sum before it is taken; a checkout says why it leads nowhere", async () => {
    const token = await here.app.login();
    const price = { product: "Pro", plan: "pro", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
    const regions = [{ region: "DE", currency: "eur", unit_amount_cents: 1_200, tax_percent: 19 }];
    const made = await here.app.call("POST", "/api/admin/pricing/prices", { token, body: { ...price, regions } });
    expect(made.status).toBe(201);
    const page = await here.at("billing");
    await page.setExtraHTTPHeaders({ "x-forwarded-for": "5.9.0.1" });
    await rowButton(page, "Pro", "Quote").click();
    const dialog = page.getByRole("dialog", { name: "Quote Pro" });
    await dialog.getByRole("status", { name: "Preview" }).getByText("$10.00", { exact: true }).waitFor();
    await dialog.getByText("the quote is of the region you are in", { exact: false }).waitFor();
    await dialog.getByRole("button", { name: "Create quote" }).click();
    await dialog.getByText(/Your region \(DE\) has a price of its own: this quote is €14\.28/u).waitFor();
    await dialog.getByRole("button", { name: "Take the quote" }).click();
    const quote = page.getByRole("region", { name: "Quote" });
    await quote.getByText("€14.28").waitFor();

    await runSql(
      here.app.databaseUrl,
      `insert into checkouts (quote_id, org_uuid, provider, session_id, url, claimed_at, expires_at)
       select quote_id, org_uuid, 'stripe', 'cs_1', null, now(), now() + interval '1 hour' from quotes`,
    );
    await runSql(
      here.app.databaseUrl,
      `insert into provider_events (provider, event_id, type, occurred_at, received_at, ids, facts, body, quote_id)
       select 'stripe', 'evt_1', 'checkout.session.completed', now(), now(), '{}', '[]', '{}', quote_id from quotes`,
    );
    await quote.getByRole("button", { name: "Checkout" }).click();
    await quote.getByText("This quote was checked out.", { exact: false }).waitFor();
  });

  it("the provider's pages are offered to an organization that it knows", async () => {
    const page = await here.at("billing");
    await page.getByText("No card is stored.", { exact: false }).waitFor();
    await page.getByText("There is no subscription.").waitFor();
    await page.getByText("Nothing was paid yet.").waitFor();
    const manage = page.getByRole("button", { name: "Manage cards" });
    expect(await manage.count()).toBe(0);
    await runSql(
      here.app.databaseUrl,
      `insert into subscriptions (subscription_id, org_uuid, quote_id, provider, external_id, plan, seats, status,
         cancel_at_period_end, created_at)
       select $1, org_uuid, quote_id, 'stripe', 'sub_0', 'pro', 1, 'active', false, now() from quotes limit 1`,
      [randomUUID()],
    );
    await page.reload();
    await manage.waitFor();
    // A quote has one subscription, and the next test has its own.
    await runSql(here.app.databaseUrl, "delete from subscriptions where external_id = 'sub_0'");
  });

  it("a subscription that was ended before its period was over is not said to end in the future", async () => {
    await runSql(
      here.app.databaseUrl,
      `insert into subscriptions (subscription_id, org_uuid, quote_id, provider, external_id, plan, seats, status,
         current_period_end, cancel_at_period_end, created_at)
       select $1, org_uuid, quote_id, 'stripe', 'sub_1', 'pro', 1, 'canceled', now() + interval '10 days', false, now()
       from quotes limit 1`,
      [randomUUID()],
    );
    const page = await here.at("billing");
    const table = page.getByRole("table", { name: "Subscriptions" });
    await table.getByRole("cell", { name: "Ended", exact: true }).waitFor();
  });

  it("usage is asked of one meter, and the meters of every page can be chosen", async () => {
    const token = await here.app.login();
    for (let nth = 10; nth < 32; nth++) {
      const meter = { name: `Meter ${nth}`, event_name: `events.${nth}`, unit: "call", aggregation: "sum" };
      expect((await here.app.call("POST", "/api/billing/metering/meters", { token, body: meter })).status).toBe(201);
    }
    const page = await here.at("members");
    let asked = 0;
    page.on("request", (request) => (asked += /Service\/GetUsage\b/u.test(request.url()) ? 1 : 0));
    await page.goto(`${here.url}/console/billing`);
    await page.getByRole("heading", { name: "Meter 10" }).waitFor();
    await page.getByText("1–20 of 22").waitFor();
    expect(asked).toBeLessThanOrEqual(2);
    await page.getByRole("button", { name: "Next meters" }).click();
    await page.getByText("21–22 of 22").waitFor();
    await rowButton(page, "Meter 31", "Show usage").click();
    await page.getByRole("heading", { name: "Meter 31" }).waitFor();
    expect(await page.getByRole("heading", { name: "Meter 10" }).count()).toBe(0);
  });
});
