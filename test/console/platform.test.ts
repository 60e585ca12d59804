import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { signUp } from "../support/market.ts";
import { describeInBrowser, rowButton, surroundings, visit } from "./browser.ts";

const PAGES = [
  ["installs", "All installs"],
  ["organizations", "Organizations"],
  ["cloud-targets", "Cloud targets"],
  ["plans", "Plans"],
  ["prices", "Prices"],
  ["retention", "Retention"],
  ["status", "Status"],
  ["payments", "Unmatched payments"],
] as const;

describeInBrowser("pages of the platform", () => {
  const here = surroundings(
    { SERVICE_OPEN_SIGNUP: "1", SERVICE_STRIPE_SECRET_KEY: "sk_test_key", SERVICE_STRIPE_WEBHOOK_SECRET: "whsec_x" },
    "serve",
  );

  async function at(path: string): Promise<Page> {
    const page = await here.at(`platform/${path}`);
    await heading(page, path);
    return page;
  }

  async function go(page: Page, path: string): Promise<void> {
    await visit(page, `platform/${path}`);
    await heading(page, path);
  }

  const heading = (page: Page, path: string): Promise<void> =>
    page.getByRole("heading", { level: 1, name: PAGES.find(([name]) => name === path)?.[1] ?? "" }).waitFor();

  /** What "Download CSV" saves of the table on a page. */
  async function saved(page: Page): Promise<string> {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    return readFile(await file.path(), "utf8");
  }

  it("every page opens without a failure", async () => {
    const page = await at("installs");
    for (const [path] of PAGES) {
      await go(page, path);
      await page.locator('[aria-busy="true"]').waitFor({ state: "detached" });
      expect(await page.getByRole("alert").filter({ hasText: /\S/u }).count(), path).toBe(0);
    }
  });

  it("an operator sees the pages of operation, and a platform admin alone those of the platform", async () => {
    const { email } = here.app.owner;
    const flags = (isOperator: boolean, isPlatformAdmin: boolean) =>
      runSql(here.app.databaseUrl, "update people set is_operator = $2, is_platform_admin = $3 where email_key = $1", [
        email,
        isOperator,
        isPlatformAdmin,
      ]);
    try {
      for (const [isOperator, isPlatformAdmin] of [
        [true, false],
        [false, true],
      ] as const) {
        await flags(isOperator, isPlatformAdmin);
        const page = await here.open("/sign-in");
        await here.signIn(page);
        const main = page.getByRole("navigation", { name: "Main" });
        for (const [names, shown] of [
          [["Unmatched payments", "Retention", "Vault seal"], isOperator],
          [["Approvals", "All installs", "Plans"], isPlatformAdmin],
          [["Status"], true],
        ] as const)
          for (const name of names)
            expect(await main.getByRole("link", { name, exact: true }).count(), name).toBe(shown ? 1 : 0);
        const refused = isOperator ? "plans" : "retention";
        await page.goto(`${here.url}/console/platform/${refused}`);
        await page.getByRole("heading", { level: 1, name: "You cannot see this page" }).waitFor();
      }
    } finally {
      await flags(true, true);
    }
  });

  it("a plan is created, sold at a price, given to an organization, and its price deactivated", async () => {
    const { token, orgUuid } = await signUp(here.app, "Beta Works");
    const page = await at("plans");
    await page.getByRole("button", { name: "Create plan" }).click();
    let dialog = page.getByRole("dialog", { name: "Create plan" });
    await dialog.getByLabel("Plan", { exact: true }).fill("team");
    await dialog.getByLabel("Name").fill("Team");
    await dialog.getByLabel("Features").fill("sso, export");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("cell", { name: "sso, export" }).waitFor();

    await go(page, "prices");
    await page.getByRole("button", { name: "Create price" }).click();
    dialog = page.getByRole("dialog", { name: "Create price" });
    await dialog.getByLabel("Product").fill("Team");
    await dialog.getByLabel("Plan", { exact: true }).selectOption("team");
    await dialog.getByLabel("Unit amount cents").fill("900");
    await dialog.getByRole("button", { name: "Add region" }).click();
    for (const [label, value] of [
      ["Region of row 1", "de"],
      ["Currency of row 1", "eur"],
      ["Tax in percent of row 1", "19"],
    ] as const)
      await dialog.getByLabel(label).fill(value);
    // A region without an amount is not free.
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("This is required.").waitFor();
    const amount = dialog.getByLabel("Minor units of row 1");
    await expect.poll(() => amount.and(page.locator(":focus")).count()).toBe(1);
    await amount.fill("8.50");
    await dialog.getByText("Enter a whole number.").waitFor();
    await amount.fill("850");
    await dialog.getByLabel("Tax percent").fill("7 %");
    await dialog.getByText("Enter a number.").waitFor();
    await dialog.getByLabel("Tax percent").fill("");
    // A row in which nothing is typed is no region.
    await dialog.getByRole("button", { name: "Add region" }).click();
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("cell", { name: "$9.00" }).waitFor();
    await page.getByRole("cell", { name: "1 region" }).waitFor();
    expect(await saved(page)).toMatch(/^Id,Product,Plan,Price,Currency,.*\r\n\d+,Team,team,9\.00,usd,/u);
    await rowButton(page, "Team", "Deactivate").click();
    const asked = page.getByRole("alertdialog", { name: "Deactivate Team?" });
    await asked.getByText("Team, plan Team, $9.00 a month: nobody can quote it any more.", { exact: false }).waitFor();
    await asked.getByRole("button", { name: "Deactivate" }).click();
    await page.getByRole("cell", { name: "Inactive" }).waitFor();

    await go(page, "organizations");
    await rowButton(page, "Beta Works", "Set plan").click();
    dialog = page.getByRole("dialog", { name: "Set plan of Beta Works" });
    await dialog.getByLabel("Plan").selectOption("team");
    await dialog.getByRole("button", { name: "Set plan" }).click();
    await page.getByText("Plan set").waitFor();
    const { body } = await here.app.call("GET", `/api/organizations/${orgUuid}`, { token });
    expect(body).toMatchObject({ plan: "team", entitlements: ["sso", "export"] });
  });

  it("retention over 90 days needs the plan enterprise; the own log is purged after its name is typed", async () => {
    const page = await at("retention");
    await rowButton(page, "Acme", "Set").click();
    const dialog = page.getByRole("dialog", { name: "Set retention" });
    await dialog.getByLabel("Audit retention days").fill("400");
    await dialog.getByRole("button", { name: "Set" }).click();
    await dialog.getByText("The most is 365.").waitFor();
    await dialog.getByLabel("Audit retention days").fill("200");
    await dialog.getByRole("button", { name: "Set" }).click();
    await dialog.getByRole("alert").getByText("unprocessable").waitFor();
    const token = await here.app.login();
    const { body } = await here.app.call("GET", "/api/auth/me", { token });
    const plan = { plan: "enterprise" };
    await here.app.call("PATCH", `/api/organizations/${body.org_uuid as string}`, { token, body: plan });
    await dialog.getByRole("button", { name: "Set" }).click();
    await page.getByText("Retention set").waitFor();
    await page.getByRole("cell", { name: "200" }).waitFor();

    await page.getByRole("button", { name: "Purge" }).click();
    const purge = page.getByRole("alertdialog", { name: "Purge Acme?" });
    expect(await purge.getByRole("button", { name: "Purge" }).isDisabled()).toBe(true);
    await purge.getByRole("textbox").fill("Acme");
    await purge.getByRole("button", { name: "Purge" }).click();
    await page.getByText("0 events purged").waitFor();
  });

  it("the status page shows the readiness and the version; reconciliation starts a workflow", async () => {
    const page = await at("status");
    const ready = (await here.app.call("GET", "/readyz")).body as Record<string, string>;
    for (const name of Object.keys(ready))
      await page
        .getByRole("term")
        .filter({ hasText: new RegExp(`^${name}$`, "iu") })
        .waitFor();
    const { version } = (await here.app.call("GET", "/")).body as { version: string };
    await page.getByRole("definition").filter({ hasText: version }).waitFor();

    await go(page, "payments");
    await page.getByText("Every payment is matched.").waitFor();
    await page.getByRole("button", { name: "Reconcile" }).click();
    const reconcile = page.getByRole("dialog");
    await reconcile.getByLabel("From").fill("2026-01-01");
    await reconcile.getByLabel("To", { exact: true }).fill("2026-01-02");
    const sent = page.waitForRequest(/Service\/ReconcilePayments$/u);
    await reconcile.getByRole("button", { name: "Reconcile" }).click();
    // The last chosen day is among them.
    expect((await sent).postDataBuffer()?.toString()).toContain("2026-01-03T00:00:00.000Z");
    await page.getByText("Reconciliation started: workflow", { exact: false }).waitFor();

    await runSql(
      here.app.databaseUrl,
      `insert into provider_events (provider, event_id, type, occurred_at, received_at, ids, facts, body, amount,
         currency, reason)
       values ('stripe', 'evt_1', 'invoice.paid', now(), now(), '{}', '[]', '{}', 1250, 'usd', 'unknown_purchase'),
         ('stripe', 'evt_2', 'invoice.paid', now(), now(), '{}', '[]', '{}', 1250, 'jpy', 'unknown_purchase')`,
    );
    await page.reload();
    await page.getByRole("cell", { name: "¥1,250" }).waitFor();
    const file = await saved(page);
    expect(file).toMatch(/^Provider,Event,Type,Amount,Currency,/u);
    expect(file).toContain("stripe,evt_1,invoice.paid,12.50,usd,");
    expect(file).toContain("stripe,evt_2,invoice.paid,1250,jpy,");
  });
});
