import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { describeInBrowser, surroundings, visit } from "./browser.ts";

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

describeInBrowser("the page of a thing that there is not", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("leads back to the list of such things", async () => {
    const page = await here.at("settings");
    const id = "00000000-0000-4000-8000-000000000000";
    for (const [path, way, heading] of [
      [`webhooks/${id}`, "Go to the webhooks", "Webhooks"],
      [`templates/${id}`, "Go to the templates", "Templates"],
      [`identities/${id}`, "Go to the service identities", "Service identities"],
      [`installs/${id}`, "Go to the installs", "Installs"],
      ["apps/none", "Go to the marketplace", "Marketplace"],
      ["vault/none", "Go to the vault", "Vault"],
    ] as const) {
      await visit(page, path);
      await page.getByRole("main").getByRole("link", { name: way }).click();
      await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    }
  });
});
