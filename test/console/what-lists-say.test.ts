import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, rowButton, surroundings, visit } from "./browser.ts";

describeInBrowser("what lists say of their rows", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("a token without a name goes by its id, and an invitation that is over expires on no day", async () => {
    const token = await here.app.login();
    const { org_uuid: orgUuid } = (await here.app.call("GET", "/api/auth/me", { token })).body;
    const organization = `/api/admin/organizations/${orgUuid}`;
    const made = await here.app.call("POST", `${organization}/scim-tokens`, { token, body: {} });
    for (const email of ["over@acme.test", "open@acme.test"])
      await here.app.call("POST", `${organization}/invitations`, { token, body: { email, role_id: 3 } });
    await runSql(here.app.databaseUrl, "update invitations set accepted_at = now() where email = 'over@acme.test'");

    const page = await here.at("scim");
    const { token_id: id } = made.body as { token_id: string };
    await rowButton(page, id.slice(0, 8), "Revoke").click();
    await page.getByRole("alertdialog", { name: `Revoke token ${id}?` }).waitFor();
    await page.keyboard.press("Escape");
    await visit(page, "invitations");
    const expires = (email: string) =>
      page.getByRole("row").filter({ hasText: email }).locator('[data-header="Expires"]').textContent();
    await page.getByRole("row").filter({ hasText: "over@acme.test" }).getByText("Accepted").waitFor();
    expect(await expires("over@acme.test")).toBe("–");
    expect(await expires("open@acme.test")).toContain("in 7 days");
  });

  it("times that are told in months and years are counted, not named after the calendar", async () => {
    const token = await here.app.login();
    const { org_uuid: orgUuid } = (await here.app.call("GET", "/api/auth/me", { token })).body;
    const path = `/api/admin/organizations/${orgUuid}/invitations`;
    for (const [email, days] of [
      ["month@acme.test", 35],
      ["year@acme.test", 370],
    ] as const) {
      await here.app.call("POST", path, { token, body: { email, role_id: 3 } });
      const sql = "update invitations set expires_at = now() + make_interval(days => $2) where email = $1";
      await runSql(here.app.databaseUrl, sql, [email, days]);
    }
    const page = await here.at("invitations");
    const row = (email: string) => page.getByRole("row").filter({ hasText: email });
    await row("month@acme.test").getByText("in 1 month", { exact: true }).waitFor();
    await row("year@acme.test").getByText("in 1 year", { exact: true }).waitFor();
  });

  it("a sample quotes an address with a query, and sends no token to what is public", async () => {
    const page = await here.at("members");
    const sample = page.getByRole("region", { name: "Code sample" });
    await sample.getByText(`curl '${here.url}/api/users?limit=50'`).waitFor();
    await visit(page, "keys");
    await sample.getByText("/.well-known/jwks.json").waitFor();
    expect(await sample.textContent()).not.toContain("$TOKEN");
  });

  it("a price is shown whole beside its button, and a long description on the page of its app alone", async () => {
    const token = await here.app.login();
    const price = { product: "Observatory", interval: "month", currency: "usd", unit_amount_cents: 1900 };
    await here.app.call("POST", "/api/admin/pricing/prices", { token, body: price });
    const page = await here.at("platform/prices");
    const table = page.getByRole("table", { name: "Prices" });
    await table.getByRole("cell", { name: "Observatory" }).waitFor();
    const frame = 'document.querySelector("main table").parentElement';
    expect(await page.evaluate(`${frame}.scrollWidth - ${frame}.clientWidth`)).toBe(0);

    const { body } = await here.app.call("POST", "/api/marketplace/apps", {
      token,
      body: {
        name: "Novel",
        slug: "novel",
        description: `${"Many words. ".repeat(100)}\nThe end.`,
        deployment_modes: ["multi_tenant"],
        provision_webhook: "https://novel.test/provision",
      },
    });
    await here.app.call("POST", `/api/admin/marketplace/apps/${body.app_id as string}/approve`, { token, body: {} });
    await visit(page, "apps");
    const card = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "Novel" }) });
    await card.waitFor();
    expect((await card.boundingBox())?.height).toBeLessThan(200);
    await card.getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "Novel" }).waitFor();
    expect(await page.getByText("Many words.", { exact: false }).innerText()).toMatch(/\nThe end\.$/u);

    await visit(page, `publish/${body.app_id as string}`);
    await page.getByRole("button", { name: "Edit" }).click();
    const description = page.getByRole("dialog").getByLabel("Description");
    expect(await description.inputValue()).toMatch(/ \nThe end\.$/u);
  });

  it("seats are printed as other numbers are, and plans and modes go by their names", async () => {
    const token = await here.app.login();
    const app = {
      name: "Comet",
      slug: "comet",
      deployment_modes: ["multi_tenant"],
      plans: [{ plan_id: "p1", name: "Small team", price_cents: 500, interval: "month" }],
      provision_webhook: "https://comet.test/provision",
    };
    const { body } = await here.app.call("POST", "/api/marketplace/apps", { token, body: app });
    const appId = body.app_id as string;
    await here.app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token, body: {} });
    await here.app.call("POST", "/api/marketplace/comet/install", { token, body: { quantity: 1_234 } });
    const plan = { name: "For everybody", features: ["marketplace"] };
    await here.app.call("PUT", "/api/admin/plans/free", { token, body: plan });
    const price = { product: "Basis", plan: "free", interval: "month", currency: "usd", unit_amount_cents: 100 };
    await here.app.call("POST", "/api/admin/pricing/prices", { token, body: price });

    const page = await here.at("installs");
    const row = (text: string) => page.getByRole("row").filter({ hasText: text });
    for (const path of ["installs", "platform/installs", `publish/${appId}?tab=installs`]) {
      await visit(page, path);
      await row("Small team").getByRole("cell", { name: "1,234", exact: true }).waitFor();
    }
    for (const path of ["platform/organizations", "platform/retention"]) {
      await visit(page, path);
      await row(here.app.owner.org).getByText("For everybody").waitFor();
    }
    await visit(page, "platform/prices");
    await row("Basis").getByText("For everybody").waitFor();
    await visit(page, "installs");
    await page.getByRole("link", { name: "Comet" }).click();
    await page
      .getByRole("list", { name: "Timeline" })
      .getByText("Plan Small team, 1,234 seats, multi tenant")
      .waitFor();
  });

  it("the file of one's own apps has their prices, and an installed app leads to its install", async () => {
    const token = await here.app.login();
    const app = {
      name: "Orbit",
      slug: "orbit",
      deployment_modes: ["multi_tenant"],
      pricing_model: "seat",
      base_price_cents: 1250,
      currency: "usd",
      provision_webhook: "https://orbit.test/provision",
    };
    const { body } = await here.app.call("POST", "/api/marketplace/apps", { token, body: app });
    await here.app.call("POST", `/api/admin/marketplace/apps/${body.app_id as string}/approve`, { token, body: {} });
    const page = await here.at("publish");
    await page.getByRole("link", { name: "Orbit" }).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    expect((await readFile(await file.path(), "utf8")).split("\r\n").slice(0, 2)).toEqual([
      "App,Slug,From,Status",
      "Orbit,orbit,12.50 USD,published",
    ]);

    await visit(page, "apps/orbit");
    await page.getByText("Not installed", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Install" }).waitFor();
    await here.app.call("POST", "/api/marketplace/orbit/install", { token, body: {} });
    await page.reload();
    await page.getByRole("link", { name: "Open the install" }).click();
    await page.getByRole("heading", { level: 1, name: "Orbit" }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/console\/installs\/[\w-]{36}$/u);
  });
});
