import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { describeInBrowser, surroundings } from "./browser.ts";

const gone = { status: 404, contentType: "application/json", body: "{}" };

describeInBrowser("the console while the service is upgraded", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");
  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();

  it("a page whose script is gone says so in words when a reload does not help, and tries again", async () => {
    const script = /\/console\/assets\/Members-[^/]+\.js$/u;
    const page = await here.at("settings");
    await page.route(script, (route) => route.fulfill(gone));
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Members", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: "Part of the console could not be fetched." }).waitFor();
    await heading(page, "This page did not load");
    await page.unroute(script);
    await page.getByRole("button", { name: "Try again" }).click();
    await heading(page, "Members");
  });

  it("a console whose first script is gone is loaded anew once, and then says so on its page", async () => {
    const script = /\/console\/assets\/index-[^/]+\.js$/u;
    const page = await here.at("settings");
    let refused = 0;
    await page.route(script, (route) => (++refused === 1 ? route.fulfill(gone) : route.continue()));
    await page.reload();
    await heading(page, "Organization");
    expect(refused).toBe(2);
    await page.unroute(script);
    await page.route(script, (route) => route.fulfill(gone));
    await page.reload();
    await heading(page, "The console did not load");
    await page.unroute(script);
    await page.getByRole("link", { name: "Try again" }).click();
    await heading(page, "Organization");
  });

  it("a page opened while the service is away neither stays empty nor asks for a sign-in, and goes on", async () => {
    const page = await here.at("settings");
    let isAway = true;
    await page.route(/\/atrium\.|\/readyz/u, (route) => (isAway ? route.abort("connectionrefused") : route.continue()));
    await page.reload();
    await page.getByRole("main").getByText("Loading", { exact: true }).waitFor();
    await heading(page, "The console cannot start yet");
    await page.getByRole("alert").filter({ hasText: "The service did not answer." }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/settings");
    isAway = false;
    await heading(page, "Organization");
  });
});
