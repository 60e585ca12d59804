import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { MASTER_KEY } from "../support/app.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

/** Columns of an exported audit log (decisions 5.4). */
const COLUMNS =
  "event_id,type,outcome,user_uuid,org_uuid,ip_address,user_agent,metadata,created_at,actor,resource_type,resource_id";

describeInBrowser("the pages at work", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "all");

  const at = (path: string): Promise<Page> => here.at(path);

  async function stepUp(page: Page): Promise<void> {
    const dialog = page.getByRole("dialog", { name: "Confirm it is you" });
    await dialog.getByRole("radio", { name: "Password" }).check();
    await dialog.getByRole("textbox", { name: "Password" }).fill(here.app.owner.password);
    await dialog.getByRole("button", { name: "Confirm" }).click();
  }

  it("markup in a name is text", async () => {
    const markup = "<img src=x onerror=alert(1)>";
    const token = await here.app.login();
    const named = await here.app.call("PUT", "/api/profile", { token, body: { first_name: markup } });
    expect(named.status).toBe(200);
    const page = await at("members");
    page.on("dialog", () => expect.unreachable("the name was run"));
    await page.getByText(markup).first().waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  });

  it("the palette opens a page by its name, and / moves to the search field", async () => {
    const page = await at("members");
    await page.getByRole("searchbox", { name: "Search members" }).waitFor();
    await page.keyboard.press("/");
    await expect.poll(() => page.locator(":focus").getAttribute("type")).toBe("search");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("audit");
    await page.getByRole("option", { name: /^Audit log/u }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/audit");
  });

  it("the shell has its landmarks, and its keys, menu and samples have their names", async () => {
    const page = await at("webhooks");
    for (const landmark of ["banner", "main"] as const) await page.getByRole(landmark).waitFor();
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    expect(await page.title()).toBe("Webhooks · Acme · Atrium");
    await page.getByRole("button", { name: "Organization: Acme", exact: true }).waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
    await page.keyboard.press("Tab");
    await page.getByRole("link", { name: "Skip to content" }).press("Enter");
    expect(await page.locator(":focus").getAttribute("id")).toBe("main");

    const sample = page.getByRole("region", { name: "Code sample" });
    for (const [language, text] of [
      ["curl", "/api/v2/webhooks"],
      ["TypeScript", "`Bearer ${env.TOKEN}`"],
      ["Python", "os.environ['TOKEN']"],
    ] as const) {
      await sample.getByRole("tab", { name: language, exact: true }).click();
      await sample.getByText(text, { exact: false }).first().waitFor();
    }

    await page.keyboard.press("c");
    const create = page.getByRole("dialog", { name: "Create webhook" });
    await create.getByText("Show as code").click();
    await create.getByRole("region", { name: "Code sample" }).waitFor();
    await create.getByLabel("URL").fill("https://receiver.test/");
    await page.keyboard.press("Escape");
    const discard = page.getByRole("alertdialog", { name: "Discard changes?" });
    await discard.getByRole("button", { name: "Cancel" }).click();
    expect(await create.getByLabel("URL").inputValue()).toBe("https://receiver.test/");
    await page.keyboard.press("Escape");
    await discard.getByRole("button", { name: "Discard" }).click();
    await create.waitFor({ state: "detached" });

    await page.keyboard.press("?");
    const keys = page.getByRole("dialog", { name: "Keys" });
    await keys.getByText("g m", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await keys.waitFor({ state: "detached" });
    for (const [key, heading] of [
      ["m", "Members"],
      ["a", "Audit log"],
      ["v", "Vault"],
      ["i", "Installs"],
    ] as const) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
      expect(await page.locator(":focus").textContent()).toBe(heading);
    }
    await page.setViewportSize({ width: 400, height: 800 });
    const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Roles" });
    expect(await link.isVisible()).toBe(false);
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await link.click();
    await page.getByRole("heading", { level: 1, name: "Roles" }).waitFor();
    await page.goto(`${here.url}/console/nothing-of-the-kind`);
    await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
    await page.getByRole("banner").getByRole("button", { name: "Menu", exact: true }).waitFor();
  });

  it("the CSV of the audit log has its documented columns, and the log is verified by the service", async () => {
    const page = await at("audit?type=login.password&outcome=success");
    await page.getByRole("button", { name: "Export" }).click();
    expect(await page.getByRole("menuitem").allTextContents()).toEqual(["CSV", "JSON", "NDJSON"]);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: "CSV", exact: true }).click(),
    ]);
    const [header] = (await readFile(await file.path(), "utf8")).split("\r\n");
    expect(header).toBe(COLUMNS);
    await page.getByRole("button", { name: "Verify on server" }).click();
    await page.getByText(/^Valid: \d+ events?, checked by the service\.$/u).waitFor();
    const live = page.getByRole("button", { name: "Live", exact: true });
    await live.click();
    expect(await live.getAttribute("aria-pressed")).toBe("true");
    await page.getByRole("button", { name: "Remove filter Type" }).waitFor();
    await page.getByLabel("From (UTC)", { exact: true }).fill("2020-01-01");
    await page.getByRole("button", { name: "Remove filter From" }).waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByRole("button", { name: "Clear filters" }).waitFor({ state: "detached" });
    const type = page.getByLabel("Type", { exact: true });
    await type.fill("vault.sealed");
    await type.press("Enter");
    await page.getByText("No events match.").waitFor();
    expect(new URL(page.url()).searchParams.get("type")).toBe("vault.sealed");
  });

  it("the audit log from a day to the same day has the events of that day", async () => {
    const [today, yesterday] = [0, 86_400_000].map((agoMs) => new Date(Date.now() - agoMs).toISOString().slice(0, 10));
    const page = await at("audit");
    await page.getByLabel("From (UTC)", { exact: true }).fill(today ?? "");
    const last = page.getByLabel("To (UTC)", { exact: true });
    await last.fill(yesterday ?? "");
    await page.getByText("No events match.").waitFor();
    await last.fill(today ?? "");
    await page.getByRole("link", { name: "login.password" }).first().waitFor();
    await page.reload();
    await page.getByRole("link", { name: "login.password" }).first().waitFor();
    expect(await last.inputValue()).toBe(today);
    await page
      .getByRole("button", { name: "Remove filter To (UTC)" })
      .filter({ hasText: today ?? "" })
      .waitFor();
  });

  it("search and filter survive a reload and Back", async () => {
    const page = await at("members?status=active&q=owner");
    const search = page.getByRole("searchbox", { name: "Search members" });
    const filter = page.getByRole("button", { name: "Remove filter Status" });
    for (const again of [() => page.reload(), () => page.goto(`${here.url}/console/me`).then(() => page.goBack())]) {
      await again();
      await filter.waitFor();
      expect(await search.inputValue()).toBe("owner");
      expect(new URL(page.url()).search).toContain("status=active");
    }
    await filter.click();
    await filter.waitFor({ state: "detached" });
    expect(new URL(page.url()).searchParams.has("status")).toBe(false);
  });

  it("the CSV of the members has a header and a row for each", async () => {
    const page = await at("members");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    const [header, ...rows] = (await readFile(await file.path(), "utf8")).trim().split(/\r?\n/u);
    expect(header).toMatch(/^Email,.*,Joined$/u);
    const own = rows.find((row) => row.includes(here.app.owner.email));
    expect(own).toMatch(/,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
  });

  it("Rotate shows two keys and their overlap, and says until when it cannot be repeated", async () => {
    const page = await at("keys");
    const rotate = async (): Promise<void> => {
      await page.locator("#main").getByRole("button", { name: "Rotate" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Rotate" }).click();
    };
    await rotate();
    await stepUp(page);
    await page.getByText("Signing key rotated").waitFor();
    await page.getByRole("alertdialog").waitFor({ state: "detached" });
    await page.getByText(/^verifies until/u).waitFor();
    expect(await page.getByRole("table", { name: "Signing keys" }).getByRole("row").count()).toBe(3);
    await rotate();
    await page.getByRole("alertdialog").getByText("A rotation is under way until", { exact: false }).waitFor();
  });

  it("a downloaded SVID is verified by the line of openssl that the page shows", async () => {
    const page = await at("identities");
    await page.getByRole("button", { name: "Create service identity" }).click();
    const dialog = page.getByRole("dialog", { name: "Create service identity" });
    await dialog.getByLabel("Name").fill("verified");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("link", { name: "verified" }).click();
    await page.getByRole("button", { name: "Issue SVID" }).click();
    await stepUp(page);
    const secret = page.getByRole("alertdialog", { name: "Save this SVID" });
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      secret.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(file.suggestedFilename()).toBe("svid.pem");
    const token = await here.app.login();
    const { org_uuid: org } = (await here.app.call("GET", "/api/auth/me", { token })).body as { org_uuid: string };
    const folder = mkdtempSync(join(tmpdir(), "atrium-svid-"));
    try {
      await copyFile(await file.path(), join(folder, "svid.pem"));
      writeFileSync(join(folder, "ca.pem"), (await here.app.call("GET", `/orgs/${org}/.well-known/ca.pem`)).text);
      const line = ["verify", "-CAfile", "ca.pem", "svid.pem"];
      expect(execFileSync("openssl", line, { cwd: folder, encoding: "utf8" })).toContain("svid.pem: OK");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("a sealed vault says so on its pages, and unsealing ends it", async () => {
    const page = await at("platform/vault");
    await page.getByRole("button", { name: "Seal", exact: true }).click();
    const dialog = page.getByRole("alertdialog", { name: "Seal the vault?" });
    await dialog.getByRole("textbox").fill("vault");
    await dialog.getByRole("button", { name: "Seal" }).click();
    await page.getByRole("heading", { level: 2, name: "Unseal" }).waitFor();
    const reader = await page.context().newPage();
    await reader.goto(`${here.url}/console/vault`);
    const banner = reader.getByText("The vault is sealed.", { exact: false }).first();
    await banner.waitFor();
    await page.getByRole("radio", { name: "The master key" }).check();
    await page.getByLabel("Key", { exact: true }).fill(` ${Buffer.from(MASTER_KEY).toString("base64")} `);
    await page.getByRole("button", { name: "Unseal" }).click();
    await page.getByText("Vault unsealed").waitFor();
    await reader.reload();
    await reader.getByRole("button", { name: "Create secret" }).waitFor();
    expect(await banner.count()).toBe(0);
  });
});
