import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { MASTER_KEY } from "../support/app.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("the pages at work", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "all");

  async function at(path: string): Promise<Page> {
    const page = await here.open("/sign-in");
    await here.signIn(page);
    await page.goto(`${here.url}/console/${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    return page;
  }

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
    expect(header).toMatch(/^"?Email"?,/u);
    expect(rows.some((row) => row.includes(here.app.owner.email))).toBe(true);
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
    await page.getByLabel("Key", { exact: true }).fill(Buffer.from(MASTER_KEY).toString("base64"));
    await page.getByRole("button", { name: "Unseal" }).click();
    await page.getByText("Vault unsealed").waitFor();
    await reader.reload();
    await reader.getByRole("button", { name: "Create secret" }).waitFor();
    expect(await banner.count()).toBe(0);
  });
});
