import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeInBrowser, rowButton, surroundings, visit } from "./browser.ts";

describeInBrowser("the focus", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  /** What has the focus: its tag, and its text or the caption of its table. */
  const focused = (page: Page): Promise<string> =>
    page.evaluate(`(() => {
      const at = document.activeElement;
      return at.localName + ": " + (at.caption ?? at).textContent.trim().slice(0, 40);
    })()`);

  it("stays near what had it: a row that goes, a filter that is cleared, a button that is disabled", async () => {
    const token = await here.app.login();
    const { org_uuid: orgUuid } = (await here.app.call("GET", "/api/auth/me", { token })).body;
    for (const name of ["first", "second"]) {
      const body = { key: name, value: "x", scope: "global" };
      expect((await here.app.call("POST", "/api/ops/custom-variables", { token, body })).status).toBe(201);
    }
    const page = await here.at("variables");
    await rowButton(page, "first", "Delete").focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("alertdialog");
    await dialog.waitFor();
    if ((await dialog.getByRole("textbox").count()) > 0) await dialog.getByRole("textbox").fill("first");
    await dialog.getByRole("button", { name: "Delete" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("row").filter({ hasText: "first" }).waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("table: Variables");

    await visit(page, "members?status=active");
    await page.getByRole("cell", { name: here.app.owner.email }).waitFor();
    await page.getByRole("button", { name: "Clear filters" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("table: Members");

    for (let nth = 0; nth < 51; nth++) {
      const body = { email: `many${nth}@acme.test`, role_id: 3 };
      await here.app.call("POST", `/api/admin/organizations/${orgUuid}/invitations`, { token, body });
    }
    await visit(page, "invitations?page=2");
    await page.getByRole("button", { name: "Previous page" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("1–50 of ").waitFor();
    await expect.poll(() => focused(page)).toBe("button: Previous page");
    expect(await page.getByRole("button", { name: "Previous page" }).isDisabled()).toBe(true);
  });

  it("stays on a button that is disabled for a while, and on the switch that is saved", async () => {
    const token = await here.app.login();
    const template = { name: "Kept", category: "email", variables: [], body: "<p>Hello</p>" };
    const { body } = await here.app.call("POST", "/api/templates", { token, body: template });
    const page = await here.at(`templates/${String(body["id"])}`);
    await page.getByLabel("Name", { exact: true }).fill("Renamed");
    const save = page.getByRole("button", { name: "Save", exact: true });
    await save.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Renamed" }).waitFor();
    await expect.poll(() => save.isDisabled()).toBe(true);
    // Longer than it takes to give up a lost focus.
    await page.waitForTimeout(300);
    expect(await focused(page)).toBe("button: Save");

    await visit(page, "sso");
    await page.getByRole("switch").focus();
    await page.keyboard.press("Space");
    await page.getByRole("dialog", { name: "Confirm it is you" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("switch").and(page.locator(":focus")).count()).toBe(1);
  });

  it("is on the heading of a page whose thing had to be read first", async () => {
    const token = await here.app.login();
    const template = { name: "Welcome", category: "email", variables: [], body: "<p>Hello</p>" };
    expect((await here.app.call("POST", "/api/templates", { token, body: template })).status).toBe(201);
    const page = await here.at("templates");
    await page.getByRole("link", { name: "Welcome" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Welcome" }).waitFor();
    await expect.poll(() => focused(page)).toBe("h1: Welcome");
  });
});
