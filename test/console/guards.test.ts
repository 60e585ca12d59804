import { expect, it } from "vitest";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("the way out of a dialog", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("Back and the palette lose neither what is typed in a dialog nor a secret that is shown once", async () => {
    const page = await here.at("members");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "API keys" }).click();
    await page.getByRole("button", { name: "Create API key" }).click();
    const dialog = page.getByRole("dialog", { name: "Create API key" });
    const name = dialog.getByLabel("Name");
    await name.fill("kept");
    await page.keyboard.press("Control+K");
    await page.evaluate("history.back()");
    const discard = page.getByRole("alertdialog", { name: "Discard changes?" });
    await discard.getByRole("button", { name: "Cancel" }).click();
    await discard.waitFor({ state: "detached" });
    expect(await name.inputValue()).toBe("kept");
    expect(await page.getByRole("dialog", { name: "Search" }).count()).toBe(0);
    await dialog.getByRole("checkbox", { name: "read:users" }).check();
    await dialog.getByRole("button", { name: "Create" }).click();

    const secret = page.getByRole("alertdialog", { name: "Save this API key" });
    await secret.getByRole("button", { name: "Show" }).click();
    const key = (await secret.locator("pre").textContent()) ?? "";
    expect(key).toMatch(/^atr_/u);
    await page.keyboard.press("Control+K");
    await page.evaluate("history.back()");
    const leaving = page.getByRole("alertdialog", { name: "Leave without saving it?" });
    await leaving.getByRole("button", { name: "Cancel" }).click();
    await leaving.waitFor({ state: "detached" });
    expect(await secret.locator("pre").textContent()).toBe(key);
    expect(await page.getByRole("dialog", { name: "Search" }).count()).toBe(0);
    await secret.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("cell", { name: "kept", exact: true }).waitFor();
    await page.evaluate("history.back()");
    await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();

    await page.keyboard.press("Control+K");
    await page.getByRole("dialog", { name: "Search" }).waitFor();
  });

  it("dialogs ask before they lose what is typed beside their form, or pasted", async () => {
    const page = await here.at("templates");
    const discard = page.getByRole("alertdialog", { name: "Discard changes?" });
    const stay = async (): Promise<void> => {
      await page.keyboard.press("Escape");
      await discard.getByRole("button", { name: "Cancel" }).click();
      await discard.waitFor({ state: "detached" });
    };
    await page.getByRole("button", { name: "Curriculum vitae" }).click();
    const company = page.getByRole("dialog", { name: "Curriculum vitae" }).getByLabel("Company");
    await company.fill("Analytical Engines");
    await stay();
    expect(await company.inputValue()).toBe("Analytical Engines");

    const token = await here.app.login();
    const webhook = { url: "https://receiver.test/events", events: ["*"] };
    const made = await here.app.call("POST", "/api/v2/webhooks", { token, body: webhook });
    await page.goto(`${here.url}/console/webhooks/${made.body.webhook_id as string}`);
    await page.getByRole("button", { name: "Check a signature" }).click();
    const body = page.getByRole("dialog", { name: "Check a signature" }).getByLabel("Body");
    await body.fill("{}");
    await stay();
    expect(await body.inputValue()).toBe("{}");
  });
});
