import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { consoleFolder } from "../../src/launch/console.ts";
import { startApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { launchChromium } from "../support/chromium.ts";
import { describeInBrowser, surroundings } from "./browser.ts";
import { startProxy } from "./proxy.ts";

describeInBrowser("a console that stays open", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();

  it("a service that is restarted is away, then back, without a reload of the page", async () => {
    const proxy = await startProxy("/atrium");
    here.friends.add(new URL(proxy.url).host);
    const start = (databaseUrl?: string) =>
      startApp({
        clock: systemClock,
        consoleFolder: consoleFolder(),
        env: { SERVICE_RATE_LIMITS: "off", SERVICE_BASE_URL: proxy.url },
        ...(databaseUrl !== undefined && { databaseUrl }),
      });
    const first = await start();
    try {
      proxy.forwardTo(first.url);
      const page = await here.open();
      await page.goto(`${proxy.url}/sign-in`);
      const { email, org, password } = first.owner;
      await page.getByLabel("Organization").fill(org);
      await page.getByLabel("Email", { exact: true }).fill(email);
      await page.getByLabel("Password", { exact: true }).fill(password);
      await page.getByRole("button", { name: "Sign in" }).click();
      await heading(page, "Overview");
      await page.goto(`${proxy.url}/console/members`);
      await page.getByRole("cell", { name: email }).first().waitFor();
      await page.evaluate("window.sameDocument = true");

      // Where nobody listens.
      proxy.forwardTo("http://127.0.0.1:1");
      await page.getByRole("searchbox", { name: "Search members" }).fill("owner");
      await page.getByText("The service does not answer.", { exact: false }).first().waitFor();
      const second = await start(first.databaseUrl);
      try {
        proxy.forwardTo(second.url);
        await page.getByRole("cell", { name: email }).first().waitFor();
        await page.getByText("The service does not answer.", { exact: false }).first().waitFor({ state: "detached" });
        expect(await page.evaluate("window.sameDocument")).toBe(true);
        expect(await page.getByRole("searchbox", { name: "Search members" }).inputValue()).toBe("owner");
      } finally {
        await second.close();
      }
    } finally {
      await first.close();
      await proxy.close();
    }
  });

  it.each([
    ["an hour ahead", 3_600_000],
    ["an hour behind", -3_600_000],
  ])("a browser whose clock is %s signs in, stays signed in over a reload, and renews its token", async (_, offMs) => {
    const page = await here.open();
    await page.clock.install({ time: Date.now() + offMs });
    await here.signIn(page);
    await page.goto(`${here.url}/console/members`);
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    await page.reload();
    await heading(page, "Members");
    // The access token of five minutes is over for the browser; the console renews it.
    await page.clock.fastForward(20 * 60_000);
    await page.getByRole("searchbox", { name: "Search members" }).fill("owner");
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  it("two tabs of a person with three organizations show the same one", async () => {
    const token = await here.app.login();
    for (const name of ["Second Organization", "Third Organization"])
      expect((await here.app.call("POST", "/api/organizations", { token, body: { name } })).status).toBe(201);
    const page = await here.at("settings");
    await heading(page, "Organization");
    const other = await page.context().newPage();
    await other.goto(`${here.url}/console/settings`);
    await heading(other, "Organization");
    const change = async (tab: Page, from: string, to: string): Promise<void> => {
      await tab.getByRole("button", { name: `Organization: ${from}` }).click();
      await tab.getByRole("menuitem", { name: to }).click();
    };
    for (const [tab, from, to] of [
      [page, here.app.owner.org, "Second Organization"],
      [other, "Second Organization", "Third Organization"],
      [page, "Third Organization", "Second Organization"],
    ] as const) {
      await change(tab, from, to);
      // Both tabs go to the overview of the same organization, and read what is of it; nobody loads them anew.
      for (const one of [page, other]) {
        await one.getByText(`How ${to} stands.`).waitFor();
        await one.getByRole("link", { name: "Organization", exact: true }).click();
        await one.getByRole("button", { name: `Organization: ${to}` }).waitFor();
        await one.getByRole("region", { name: "Details" }).getByText(to, { exact: true }).waitFor();
        expect(await one.getByRole("region", { name: "Details" }).getByText(from, { exact: true }).count()).toBe(0);
      }
    }
  });

  it("a page that comes back from the cache of a browser asks whether its session still lives", async () => {
    const page = await here.at("members");
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    await runSql(here.app.databaseUrl, "update sessions set revoked_at = now(), revoked_reason = 'test'");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.evaluate('dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))');
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
  });

  it("the page that Back brings from the cache of a browser shows nothing after a sign-out", async () => {
    // Playwright switches the back-forward cache off.
    const browser = await launchChromium({ ignoreDefaultArgs: ["--disable-back-forward-cache"] });
    try {
      const context = await browser.newContext();
      const page = await context.newPage();
      await here.signIn(page);
      await page.goto(`${here.url}/console/members`);
      await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
      await page.goto(`${here.url}/docs`);
      const other = await context.newPage();
      await other.goto(`${here.url}/console/me`);
      await heading(other, "Profile");
      await other.getByRole("button", { name: /^Account: / }).click();
      await other.getByRole("menuitem", { name: "Sign out", exact: true }).click();
      await heading(other, "Sign in");
      await page.goBack();
      await heading(page, "Sign in");
      expect(await page.getByRole("cell").count()).toBe(0);
    } finally {
      await browser.close();
    }
  });

  it("a slow network shows what is coming, and every step is done once", async () => {
    const page = await here.open();
    const network = await page.context().newCDPSession(page);
    // As Chromium's "Slow 3G" profile has it.
    await network.send("Network.enable");
    await network.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 400,
      downloadThroughput: 50_000,
      uploadThroughput: 50_000,
    });
    await here.signIn(page);
    await page.getByRole("link", { name: "Vault", exact: true }).click();
    await heading(page, "Vault");
    await page.getByRole("button", { name: "Create secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Create secret" });
    await dialog.getByLabel("Name").fill("db.slow");
    await dialog.getByLabel("Value").fill("one");
    const create = dialog.getByRole("button", { name: "Create" });
    await create.dblclick();
    await page.getByRole("link", { name: "db.slow" }).waitFor();
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const { body } = await here.app.call("GET", `/api/admin/organizations/${me.org_uuid}/secrets`, { token });
    expect(body.data).toMatchObject([{ name: "db.slow", version: 1 }]);
  });
});
