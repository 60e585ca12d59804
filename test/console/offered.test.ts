import { expect, it } from "vitest";
import { elevate } from "../support/elevate.ts";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

const DAY_MS = 86_400_000;

describeInBrowser("what pages offer and claim", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  async function owner(): Promise<{ token: string; org: string }> {
    const token = await here.app.login();
    const { body } = await here.app.call("GET", "/api/auth/me", { token });
    return { token, org: body.org_uuid as string };
  }

  it("the marketplace is paged and searched, and the caret stays where it is typed", async () => {
    await runSql(
      here.app.databaseUrl,
      `with slugs as (insert into app_slugs (slug) select 'app-' || n from generate_series(1, 45) n)
       insert into apps (
         app_id, org_uuid, slug, name, description, deployment_modes, pricing_model, base_price_cents, currency, plans,
         provision_webhook, webhook_secret, status, created_by, key_id, published_at, created_at, updated_at)
       select gen_random_uuid(), o.uuid, 'app-' || n, 'App number ' || n, 'Dashboards', '{multi_tenant}', 'free', 0,
         'usd', '[]', 'https://publisher.example/', '', 'published', p.uuid, gen_random_uuid(),
         now() - n * interval '1 minute', now(), now()
       from generate_series(1, 45) n, (select uuid from organizations limit 1) o, (select uuid from people limit 1) p`,
    );
    const page = await here.at("apps");
    const apps = page.getByRole("list", { name: "Apps" });
    await page.getByText("1–20 of 45").waitFor();
    expect(await page.getByRole("button", { name: "Previous page" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText("21–40 of 45").waitFor();
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText("41–45 of 45").waitFor();
    expect(await apps.getByRole("listitem").count()).toBe(5);
    expect(await page.getByRole("button", { name: "Next page" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Previous page" }).click();
    await page.getByText("21–40 of 45").waitFor();

    // Another list begins with its first page.
    const search = page.getByRole("searchbox", { name: "Search apps" });
    await search.fill("44");
    await apps.getByRole("link", { name: "App number 44" }).waitFor();
    await page.getByText("1–1 of 1").waitFor();
    expect(new URL(page.url()).search).toBe("?q=44");
    await search.press("Home");
    await search.pressSequentially("app-");
    expect(await search.inputValue()).toBe("app-44");

    await page.goto(`${here.url}/console/apps?page=9`);
    await page.getByText("There is no page 9 of apps.").waitFor();
    await page.getByRole("button", { name: "First page" }).click();
    await page.getByText("1–20 of 45").waitFor();
  });

  it("an empty export of the audit log proves nothing, and is not called valid", async () => {
    const page = await here.at("audit");
    const file = { name: "audit-events.ndjson", mimeType: "application/x-ndjson", buffer: Buffer.from("") };
    await page.getByLabel("Verify a file").setInputFiles(file);
    await page
      .getByRole("status")
      .filter({ hasText: /^Empty: there are no events/u })
      .waitFor();
    expect(await page.getByText(/^Valid/u).count()).toBe(0);
  });

  it("what is not copied is not said to be copied, and the palette changes the theme that is seen", async () => {
    const page = await here.open(undefined, {
      storageState: await here.sessionOf(here.app.owner),
      colorScheme: "dark",
    });
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.goto(`${here.url}/console/keys`);
    await page.getByRole("button", { name: "Copy key id" }).first().click();
    await page.getByRole("alert").filter({ hasText: "The browser did not copy it." }).waitFor();
    expect(await page.getByText("Copied", { exact: false }).count()).toBe(0);

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("theme");
    await page.getByRole("option", { name: "Change the theme" }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("document.documentElement.dataset.theme")).toBe("light");
  });

  it("the active signing key cannot be deleted; one that was replaced can", async () => {
    const { token, org } = await owner();
    const made = await here.app.call("POST", `/api/admin/organizations/${org}/signing-keys`, {
      token: await elevate(here.app, token),
      body: { algorithm: "ed25519", description: "the new one" },
    });
    expect(made.status).toBe(201);
    const page = await here.at("keys");
    const table = page.getByRole("table", { name: "Signing keys" });
    await table
      .getByRole("row")
      .filter({ hasText: "verifies until" })
      .getByRole("button", { name: "Delete" })
      .waitFor();
    await table.getByRole("row").filter({ hasText: "the new one" }).getByText("Active").waitFor();
    expect(await rowButton(page, "the new one", "Delete").count()).toBe(0);
  });

  it("the chart of a meter of the greatest value names the greatest, in billing and on the overview", async () => {
    const { token } = await owner();
    const meter = { name: "Peak seats", event_name: "seats", unit: "seat", aggregation: "max" };
    expect((await here.app.call("POST", "/api/billing/metering/meters", { token, body: meter })).status).toBe(201);
    const events = [1, 2, 3].map((days) => ({
      id: `seats-${days}`,
      event_name: "seats",
      value: days === 2 ? 12 : 10,
      timestamp: new Date(Date.now() - days * DAY_MS).toISOString(),
    }));
    const { status } = await here.app.call("POST", "/api/billing/metering/events", { token, body: { events } });
    expect(status).toBe(202);
    const page = await here.at("billing");
    await page.getByRole("img", { name: /^Peak seats, .*\. seat 12\.$/u }).waitFor();
    await page.goto(`${here.url}/console`);
    await page.getByRole("img", { name: /^Peak seats, .*\. seat 12\.$/u }).waitFor();
  });

  it("a quote is good for its 15 minutes where the clock of the browser is fast", async () => {
    const { token } = await owner();
    const price = { product: "Seats", plan: "pro", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
    expect((await here.app.call("POST", "/api/admin/pricing/prices", { token, body: price })).status).toBe(201);
    const page = await here.at("billing");
    await rowButton(page, "Seats", "Quote").waitFor();
    await page.clock.setFixedTime(Date.now() + 20 * 60_000);
    await rowButton(page, "Seats", "Quote").click();
    await page.getByRole("dialog", { name: "Quote Seats" }).getByRole("button", { name: "Create quote" }).click();
    await page.getByRole("region", { name: "Quote" }).getByText("Good for 15:00").waitFor();
  });

  it("the session inventory names what it lists while no status is chosen", async () => {
    const page = await here.at("sessions");
    const status = page.getByRole("combobox", { name: "Status" });
    expect(await status.getByRole("option").allTextContents()).toEqual(["Status: active", "Ended in the last 30 days"]);
    const person = page.getByRole("combobox", { name: "Person" });
    expect(await person.getByRole("option").first().textContent()).toBe("Person: any");
    const own = page.getByRole("row").filter({ hasText: "This session" });
    await own.waitFor();
    await own.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("alertdialog", { name: "Revoke your own session?" }).waitFor();
  });

  it("an automation token of an identity gets the life that is chosen, and its dialog says until when", async () => {
    const { token, org } = await owner();
    const name = "w".repeat(128);
    const path = `/api/organizations/${org}/service-identities`;
    const { body: identity } = await here.app.call("POST", path, { token, body: { name, role_id: 4 } });
    const page = await here.at(`identities/${identity.identity_id as string}`);
    await page.getByRole("button", { name: "Create automation token" }).click();
    const dialog = page.getByRole("dialog", { name: "Create automation token" });
    expect(await dialog.getByLabel("Name").inputValue()).toBe(`${"w".repeat(122)} token`);
    expect(await dialog.getByLabel("Identity").inputValue()).toBe(identity.identity_id);
    await dialog.getByLabel("Expires in").selectOption("7 days");
    await dialog.getByRole("button", { name: "Create" }).click();
    const secret = page.getByRole("alertdialog", { name: "Save this automation token" });
    await secret.getByText("It expires in 7 days.").waitFor();
    await secret.getByRole("button", { name: "I have saved it" }).click();
    const tokens = page.getByRole("table", { name: "Automation tokens" });
    await tokens.getByRole("row").filter({ hasText: "www token" }).getByText("in 7 days").waitFor();
  });
});
