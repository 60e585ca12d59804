import { expect, it } from "vitest";
import type { Locator, Page } from "playwright-core";
import { describeInBrowser, surroundings } from "./browser.ts";

/** Text of what is seen at a place of an element, from its left and upper edge. */
async function seenAt(page: Page, element: Locator, [x, y]: readonly [number, number]): Promise<string> {
  const box = await element.boundingBox();
  return page.evaluate<string>(
    `document.elementFromPoint(${(box?.x ?? 0) + x}, ${(box?.y ?? 0) + y})?.textContent ?? ""`,
  );
}

describeInBrowser("what opens over a page", () => {
  const here = surroundings({}, "serve");

  it("a menu of the banner is not below it, and the moment of a relative time not below a dialog", async () => {
    const page = await here.at("me/sessions");
    await page.getByRole("button", { name: "Organization: Acme" }).click();
    const menu = page.getByRole("menu");
    await menu.getByRole("menuitem", { name: "Acme" }).waitFor();
    expect(await seenAt(page, menu, [100, 3])).toContain("Your organizations");
    await page.keyboard.press("Escape");

    await here.app.login();
    await page.reload();
    await page
      .getByRole("button", { name: /^Sign out (?!everywhere)/u })
      .first()
      .click();
    await page.getByRole("alertdialog").locator("time").hover();
    const moment = page.getByText(/\d UTC$/u);
    await moment.waitFor();
    expect(await seenAt(page, moment, [20, 10])).toMatch(/\d UTC$/u);
  });
});
