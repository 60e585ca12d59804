import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Page, Request } from "playwright-core";
import { expect, it } from "vitest";
import { signedIn } from "../clients/support.ts";
import { draftOf } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

describeInBrowser("the habits of every page", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  async function createWebhook(url: string): Promise<string> {
    const { atrium } = await signedIn(here.app);
    return (await atrium.webhooks.createWebhook({ url, events: ["*"] })).webhookId;
  }

  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true });

  it("single keys can be turned off, and Ctrl+K opens the palette all the same", async () => {
    const page = await here.at("me/preferences");
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await heading(page, "Webhooks").waitFor();
    await page.goto(`${here.url}/console/me/preferences`);
    await page.getByRole("checkbox", { name: "Single keys are shortcuts" }).uncheck();
    await page.reload();
    const keys = page.getByRole("checkbox", { name: "Single keys are shortcuts" });
    await keys.waitFor();
    expect(await keys.isChecked()).toBe(false);
    for (const key of ["g", "w", "?"]) await page.keyboard.press(key);
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Search" });
    await palette.waitFor();
    expect(await page.getByRole("dialog", { name: "Keys" }).count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe("/console/me/preferences");
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
    await keys.check();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
  });

  it("a theme that was chosen is there before the first paint, and reaches the other tabs", async () => {
    const page = await here.at("me/preferences");
    const other = await page.context().newPage();
    await other.goto(`${here.url}/console/me`);
    await heading(other, "Profile").waitFor();
    const themeOf = (tab: Page): Promise<string | null> => tab.locator("html").getAttribute("data-theme");
    await page.getByRole("radio", { name: "Dark" }).check();
    await expect.poll(() => themeOf(other)).toBe("dark");
    // The scripts of the console do not run: what runs before them has set it.
    await page.route(/\/console\/assets\/index-[^/]+\.js$/u, () => undefined);
    await page.goto(`${here.url}/console/me/preferences`, { waitUntil: "commit" });
    await expect.poll(() => themeOf(page)).toBe("dark");
    expect(await page.locator("h1").count()).toBe(0);
    await other.goto(`${here.url}/console/me/preferences`);
    await other.getByRole("radio", { name: "As the system" }).check();
    await expect.poll(() => themeOf(other)).toBeNull();
  });

  it("a moment is told in the chosen time zone and in UTC, by the pointer and by the keyboard", async () => {
    const page = await here.at("me/preferences");
    await page.getByLabel("Time zone").selectOption("Asia/Tokyo");
    await page.goto(`${here.url}/console/keys`);
    const time = page.getByRole("table", { name: "Signing keys" }).locator("time");
    const at = new Date((await time.getAttribute("datetime")) ?? "");
    const tokyo = at.toLocaleTimeString("en-GB", { timeZone: "Asia/Tokyo" });
    for (const [point, leave] of [
      [() => time.hover(), () => page.mouse.move(0, 0)],
      [() => time.focus(), () => page.keyboard.press("Escape")],
    ] as const) {
      await point();
      await page.getByText(tokyo, { exact: false }).waitFor();
      await page.getByText(`${at.toISOString().replace("T", " ").slice(0, 19)} UTC`, { exact: false }).waitFor();
      await leave();
      await page.getByText(tokyo, { exact: false }).waitFor({ state: "detached" });
    }
  });

  it("cells of a CSV file that a spreadsheet would run as formulas begin with an apostrophe", async () => {
    const { atrium } = await signedIn(here.app);
    const { orgUuid = "" } = await atrium.access.getMe({});
    await runSql(here.app.databaseUrl, "update service_identities set deleted_at = now()");
    for (const name of ['=HYPERLINK("http://evil.test")', "+1", "-1", "@SUM(A1)", "1-1"])
      await atrium.serviceIdentities.createServiceIdentity({ orgUuid, name, roleId: 3 });
    const page = await here.at("identities?sort=created_at");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    const [, ...rows] = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
    expect(rows.map((row) => /^(?:"(?:[^"]|"")*"|[^,]*)/u.exec(row)?.[0])).toEqual([
      `"'=HYPERLINK(""http://evil.test"")"`,
      "'+1",
      "'-1",
      "'@SUM(A1)",
      "1-1",
    ]);
  });

  it("a given address is a link with its host by http and https alone, which tells it nothing", async () => {
    const webhookId = await createWebhook("https://user.example:8443/hook?x=1");
    const page = await here.at(`webhooks/${webhookId}`);
    const link = page.getByRole("definition").getByRole("link", { name: "user.example:8443" });
    expect(await link.getAttribute("href")).toBe("https://user.example:8443/hook?x=1");
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
    for (const url of ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "//evil.test/"]) {
      await runSql(here.app.databaseUrl, "update webhooks set url = $2 where webhook_id = $1", [webhookId, url]);
      await page.reload();
      await page.getByRole("definition").getByText(url, { exact: true }).waitFor();
      expect(await page.getByRole("definition").getByRole("link").count(), url).toBe(0);
    }
  });

  it("an error links to the page of its code, also from a page far down", async () => {
    const page = await here.at(`webhooks/${crypto.randomUUID()}`);
    const code = page.getByRole("alert").getByRole("link", { name: "not_found" });
    const href = await code.evaluate((link) => (link as unknown as { href: string }).href);
    expect(href).toBe(`${here.url}/docs/errors/not_found`);
    expect((await fetch(href)).status).toBe(200);
  });

  it("an id is shortened, and copied whole", async () => {
    const webhookId = await createWebhook("https://receiver.test/");
    const page = await here.at(`webhooks/${webhookId}`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByText(`${webhookId.slice(0, 8)}…`, { exact: true }).waitFor();
    await page.getByRole("button", { name: "Copy webhook id" }).click();
    await page.getByRole("status").filter({ hasText: "Copied webhook id" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(webhookId);
  });

  it("a revealed secret is hidden when the window loses the focus, and after 30 seconds", async () => {
    const { atrium } = await signedIn(here.app);
    const { orgUuid = "" } = await atrium.access.getMe({});
    await atrium.vault.putSecret({ orgUuid, name: "shown", value: "a value nobody else sees" });
    const page = await here.open(undefined, { storageState: await here.sessionOf(here.app.owner) });
    await page.clock.install();
    await page.goto(`${here.url}/console/vault/shown`);
    const value = page.getByText("a value nobody else sees");
    const reveal = async (): Promise<void> => {
      await page.getByRole("button", { name: "Reveal" }).click();
      await value.waitFor();
    };
    await reveal();
    await page.evaluate('dispatchEvent(new Event("blur"))');
    await value.waitFor({ state: "detached" });
    await reveal();
    await page.clock.fastForward(10_000);
    expect(await value.count()).toBe(1);
    await page.clock.fastForward(21_000);
    await value.waitFor({ state: "detached" });
  });

  it("a mailed link of an earlier version, with its token in the query, is read, and the token leaves it", async () => {
    const page = await here.open("/reset-password?token=abc&lang=en");
    await page.getByRole("button", { name: "Set password" }).waitFor();
    expect(page.url()).toBe(`${here.url}/reset-password?lang=en`);
    const sent = page.waitForRequest(/LoginService\/ResetPassword$/u);
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Set password" }).click();
    expect((await sent).postData()).toContain("abc");
    await page.getByRole("alert").getByText("reset_expired").waitFor();
  });

  it("the palette finds the page of each id that pages let copy", async () => {
    const { atrium } = await signedIn(here.app);
    const { orgUuid = "" } = await atrium.access.getMe({});
    const worker = `worker ${randomUUID()}`;
    const identity = await atrium.serviceIdentities.createServiceIdentity({ orgUuid, name: worker, roleId: 3 });
    const template = await atrium.templates.createTemplate({ name: "Letter", category: "report", body: "<p>x</p>" });
    const app = await here.app.call("POST", "/api/marketplace/apps", {
      token: await here.app.login(),
      body: draftOf(`o${randomUUID()}`, "https://orbit.example/provision"),
    });
    const page = await here.at("me");
    const found = async (id: string, name: string, title: string): Promise<void> => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search pages, members, apps and ids" }).fill(` ${id} `);
      await page.getByRole("option", { name }).waitFor();
      await page.keyboard.press("Enter");
      await heading(page, title).waitFor();
    };
    await found(identity.identityId, `${worker} Service identity`, worker);
    await found(template.id, "Letter Template", "Letter");
    await found(app.body.app_id, "Orbit App", "Orbit");
    await found(await createWebhook("https://palette.test/"), "https://palette.test/ Webhook", "https://palette.test/");
  });

  it("an install is followed by one stream, which a hidden tab gives back", async () => {
    const token = await here.app.login();
    const slug = `s${randomUUID()}`;
    const app = await here.app.call("POST", "/api/marketplace/apps", {
      token,
      body: draftOf(slug, "https://orbit.example/provision"),
    });
    await here.app.call("POST", `/api/admin/marketplace/apps/${app.body.app_id as string}/approve`, { token });
    const made = await here.app.call("POST", `/api/marketplace/${slug}/install`, { token, body: {} });
    const page = await here.at("me");
    const streams = { opened: 0, ended: 0 };
    const isStream = (request: Request): boolean => request.url().endsWith("Service/WatchInstall");
    page.on("request", (request) => isStream(request) && streams.opened++);
    page.on("requestfailed", (request) => isStream(request) && streams.ended++);
    await page.goto(`${here.url}/console/installs/${made.body.install_id as string}`);
    await page.getByText("Live", { exact: true }).waitFor();
    const show = (state: string): Promise<void> =>
      page.evaluate(`Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await show("hidden");
    await page.getByText("Not live", { exact: true }).waitFor();
    await expect.poll(() => streams).toEqual({ opened: 1, ended: 1 });
    await show("visible");
    await page.getByText("Live", { exact: true }).waitFor();
    await expect.poll(() => streams).toEqual({ opened: 2, ended: 1 });
  });

  it("a row says of what its buttons are, and a secret is masked until it is shown", async () => {
    const name = `masked ${randomUUID()}`;
    const page = await here.at("api-keys");
    await page.getByRole("button", { name: "Create API key" }).click();
    const dialog = page.getByRole("dialog", { name: "Create API key" });
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByRole("checkbox", { name: "read:users", exact: true }).check();
    await dialog.getByRole("button", { name: "Create" }).click();
    const saved = page.getByRole("alertdialog", { name: "Save this API key" });
    const text = saved.locator("pre");
    expect(await text.textContent()).toMatch(/^•+$/u);
    await saved.getByRole("button", { name: "Show" }).click();
    expect(await text.textContent()).toMatch(/^atr_/u);
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    await saved.getByRole("button", { name: "I have saved it" }).click();
    await saved.waitFor({ state: "detached" });
    expect(await rowButton(page, name, "Revoke").getAttribute("title")).toBe(name);
  });
});
