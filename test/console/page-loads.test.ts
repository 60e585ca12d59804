import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("the script of a page that was not open before", () => {
  const here = surroundings({}, "serve");
  const SCRIPT = /\/console\/assets\/Members-[^/]+\.js$/u;
  const link = (page: Page) =>
    page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Members", exact: true });
  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true });

  it("loads when somebody points at a link to it", async () => {
    const page = await here.at("settings");
    const asked = page.waitForRequest(SCRIPT);
    await link(page).hover();
    await asked;
    expect(await heading(page, "Organization").count()).toBe(1);
  });

  it("keeps the frame, which shows Loading until it arrives", async () => {
    const page = await here.at("settings");
    await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(SCRIPT, async (route) => {
      await held;
      await route.continue();
    });
    await link(page).click();
    await page.getByRole("main").getByText("Loading", { exact: true }).first().waitFor();
    expect(await heading(page, "Organization").isVisible()).toBe(false);
    expect(await link(page).getAttribute("aria-current")).toBe("page");
    release?.();
    await heading(page, "Members").waitFor();
  });
});
