import { expect, it } from "vitest";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("a page on paper", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("has what it says alone, in light colours, whatever the theme, and tables as tables", async () => {
    const page = await here.at("members");
    await page.getByRole("cell", { name: here.app.owner.email }).waitFor();
    await page.evaluate('document.documentElement.dataset.theme = "dark"');
    // The width of A4 between its margins.
    await page.setViewportSize({ width: 718, height: 1_000 });
    await page.emulateMedia({ media: "print" });
    for (const role of ["banner", "navigation", "searchbox"] as const)
      await page.getByRole(role).first().waitFor({ state: "hidden" });
    for (const name of ["Invite", "Remove", "Download CSV", "Next page"])
      expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
    expect(await page.getByRole("region", { name: "Code sample" }).count()).toBe(0);
    await page.getByRole("cell", { name: here.app.owner.email }).waitFor();
    const display = 'getComputedStyle(document.querySelector("main tbody tr")).display';
    expect(await page.evaluate(display)).toBe("table-row");
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    const colour = 'getComputedStyle(document.querySelector("main h1")).color';
    expect(await page.evaluate(colour)).toBe("rgb(24, 29, 41)");
  });
});
