import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { startPaymentServer } from "../../src/app/dev/payments/server.ts";
import type { PaymentServer } from "../../src/app/dev/payments/server.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

const SECRET = "whsec_test_secret";

describeInBrowser("billing and templates", () => {
  let provider: PaymentServer;
  const here = surroundings(async () => {
    provider = await startPaymentServer({ webhookSecret: SECRET, service: () => here.url });
    here.friends.add(new URL(provider.url).host);
    return {
      SERVICE_STRIPE_SECRET_KEY: "sk_test_key",
      SERVICE_STRIPE_WEBHOOK_SECRET: SECRET,
      SERVICE_STRIPE_API_BASE: provider.url,
    };
  }, "all");
  afterAll(() => provider?.close());

  const at = (path: string): Promise<Page> => here.at(path);

  it("a quote is paid at the provider, and the return waits for the webhook", async () => {
    const token = await here.app.login();
    const price = { product: "Pro", plan: "pro", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
    await here.app.call("POST", "/api/admin/pricing/prices", { token, body: { ...price, tax_percent: 10 } });
    const page = await at("billing");
    await rowButton(page, "Pro", "Quote").click();
    const dialog = page.getByRole("dialog", { name: "Quote Pro" });
    await dialog.getByLabel("Seats").fill("3");
    await dialog.getByRole("status", { name: "Preview" }).getByText("$33.00").waitFor();
    await dialog.getByRole("button", { name: "Create quote" }).click();
    const quote = page.getByRole("region", { name: "Quote" });
    await quote.getByText("$33.00").waitFor();
    expect(await quote.getByRole("timer").textContent()).toMatch(/^Good for \d+:\d\d$/u);

    // What is left without paying can be taken up again.
    await quote.getByRole("button", { name: "Checkout" }).click();
    await page.getByRole("button", { name: "Leave without paying" }).click();
    await page.getByText("Nothing was paid.", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Checkout" }).click();

    // The provider sends the browser back before its webhook has arrived.
    provider.losesWebhooks = true;
    await page.getByRole("button", { name: /^Pay \$33\.00/u }).click();
    await page.getByText("Waiting for the payment provider to confirm the payment.").waitFor();
    provider.losesWebhooks = false;
    for (const event of provider.ledger.events.slice()) provider.acts.publish("stripe", event.type, dataOf(event.body));
    await page.getByText("Payment of $33.00 confirmed.").waitFor();
    await page.getByRole("definition").filter({ hasText: /^Pro$/u }).first().waitFor();
    await page.getByRole("cell", { name: "Paid" }).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    expect(await readFile(await file.path(), "utf8")).toContain(",33.00,usd,paid,");

    await rowButton(page, "pro", "Cancel").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Cancel subscription" }).click();
    await page.getByText("Subscription ends with its period").waitFor();
    await rowButton(page, "pro", "Cancel").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Manage cards" }).click();
    await page.getByRole("heading", { name: "Your subscriptions" }).waitFor();
    await page.getByRole("link", { name: "Return" }).click();
    await page.getByRole("heading", { level: 1, name: "Billing" }).waitFor();
  });

  it("cards change their default and are removed", async () => {
    const token = await here.app.login();
    for (const payment_method_token of ["pm_card_visa", "pm_card_mastercard"])
      await here.app.call("POST", "/api/billing/cards", { token, body: { provider: "stripe", payment_method_token } });
    const page = await at("billing");
    await page.getByRole("button", { name: "Make default" }).click();
    await page.getByText("Default card changed").waitFor();
    await page.getByRole("button", { name: "Remove", exact: true }).first().click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("Card removed").waitFor();
    const { body } = await here.app.call("GET", "/api/billing/cards", { token });
    expect(body.data).toHaveLength(1);
  });

  it("a template is written, previewed without power, rendered with what was missing, and deleted", async () => {
    // Not watched: the policy of the preview is violated on purpose.
    const context = await here.browser.newContext({ viewport: { width: 1280, height: 800 } });
    context.setDefaultTimeout(120_000);
    try {
      const page = await context.newPage();
      await here.signIn(page);
      await page.goto(`${here.url}/console/variables`);
      await page.getByRole("button", { name: "Create variable" }).click();
      const variable = page.getByRole("dialog", { name: "Create variable" });
      await variable.getByLabel("Key").fill("company");
      await variable.getByLabel("Value").fill("Acme & Sons");
      await variable.getByRole("button", { name: "Create" }).click();
      await page.getByRole("cell", { name: "Acme & Sons" }).waitFor();

      await page.goto(`${here.url}/console/templates`);
      await page.getByRole("button", { name: "Create template" }).click();
      const dialog = page.getByRole("dialog", { name: "Create template" });
      await dialog.getByLabel("Name").fill("Offer");
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name: "Offer" }).waitFor();
      await page
        .getByLabel("Body")
        .fill(
          "<style>h1 { color: rgb(1, 2, 3); }</style><h1>{{person}} of {{company}}</h1>" +
            '<script>window.ran = true</script><img src="data:," onerror="window.ran = true">',
        );
      await page.getByText("Without a value: {{person}}.", { exact: false }).waitFor();
      await page.getByLabel("person").fill("<b>Ada</b>");
      const heading = page.frameLocator('iframe[title="Preview"]').getByRole("heading", { level: 1 });
      await heading.getByText("<b>Ada</b> of Acme & Sons").waitFor();
      const frame = page.frames().find((one) => one.url().endsWith("/console/preview"));
      expect(await frame?.evaluate(attackOn(provider.url))).toEqual({
        parent: "refused",
        storage: "refused",
        fetch: "refused",
        image: "refused",
        ran: false,
        colour: "rgb(1, 2, 3)",
        origin: "null",
      });
      expect(provider.calls.filter(({ path }) => path.startsWith("/stolen"))).toEqual([]);
      await page.getByRole("button", { name: "Narrow" }).click();

      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Template saved").waitFor();
      await page.getByLabel("person").fill("");
      await page.getByRole("button", { name: "Render" }).click();
      await page.getByRole("alert").getByText("The placeholder person has no value").waitFor();
      await page.getByLabel("person").fill("Grace");
      await page.getByRole("button", { name: "Render" }).click();
      const document = page.frameLocator('iframe[title="Rendered document"]');
      await document.getByRole("heading", { name: "Grace of Acme & Sons" }).waitFor();

      await page.getByRole("button", { name: "Delete" }).click();
      const asked = page.getByRole("alertdialog", { name: "Delete Offer?" });
      await asked.getByRole("textbox").fill("Offer");
      await asked.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("heading", { level: 1, name: "Templates" }).waitFor();

      await page.getByRole("button", { name: "Curriculum vitae" }).click();
      const cv = page.getByRole("dialog", { name: "Curriculum vitae" });
      await cv.getByLabel("Full name").fill("Ada Lovelace");
      await cv.getByLabel("Company").fill("Analytical Engines");
      await cv.getByLabel("Year").fill("1842");
      await cv.getByRole("button", { name: "Generate" }).click();
      await page
        .frameLocator('iframe[title="Curriculum vitae"]')
        .getByText("Analytical Engines", { exact: false })
        .first()
        .waitFor();
    } finally {
      await context.close();
    }
  });
});

/** Tries in a frame what a hostile template would; the tool that runs it needs no permission of the policy. */
const attackOn = (url: string): string => `(async () => {
  const tried = async (what) => { try { await what(); return "done"; } catch { return "refused"; } };
  return {
    parent: await tried(() => parent.document.title),
    storage: await tried(() => localStorage.length),
    fetch: await tried(() => fetch("${url}/stolen", { mode: "no-cors" })),
    image: await tried(() => new Promise((resolve, reject) =>
      Object.assign(new Image(), { onload: resolve, onerror: reject, src: "${url}/stolen.png" }))),
    ran: "ran" in window,
    colour: getComputedStyle(document.querySelector("h1")).color,
    origin: self.origin,
  };
})()`;

/** What an event of Stripe is about. */
function dataOf(body: Record<string, unknown>): Record<string, unknown> {
  return (body["data"] as { object: Record<string, unknown> }).object;
}
