import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

describeInBrowser("the vault in the console", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  async function put(name: string, value: string): Promise<void> {
    const token = await here.app.login();
    const { body } = await here.app.call("GET", "/api/auth/me", { token });
    const path = `/api/admin/organizations/${body.org_uuid as string}/secrets/${name}`;
    expect((await here.app.call("PUT", path, { token, body: { value } })).status).toBeLessThan(300);
  }

  async function saved(page: Page): Promise<string> {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    return readFile(await file.path(), "utf8");
  }

  it("description and tags are given with a secret, shown on its page, and changed with a new version", async () => {
    const page = await here.at("vault");
    await page.getByRole("button", { name: "Create secret" }).click();
    const create = page.getByRole("dialog", { name: "Create secret" });
    await create.getByLabel("Name").fill("mail.key");
    await create.getByLabel("Value").fill("first");
    await create.getByLabel("Description").fill("Signs the mails");
    await create.getByLabel("Tags").fill("mail, production");
    await create.getByRole("button", { name: "Create" }).click();
    await page.getByRole("cell", { name: "mail, production" }).waitFor();
    await page.getByRole("link", { name: "mail.key" }).click();
    const tags = page.getByRole("definition");
    await tags.getByText("mail, production", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByText("Signs the mails").waitFor();
    await page.getByRole("button", { name: "New version" }).click();
    const write = page.getByRole("dialog", { name: "New version" });
    expect(await write.getByLabel("Tags").inputValue()).toBe("mail, production");
    await write.getByLabel("Value").fill("second");
    await write.getByLabel("Description").fill("Signs the letters");
    await write.getByLabel("Tags").fill("");
    await write.getByRole("button", { name: "Save" }).click();
    await tags.getByText("None", { exact: true }).waitFor();
    await page.getByText("Version 2").waitFor();
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByText("Signs the letters").waitFor();
  });

  it("a name that is chosen after a comparison is written as a new secret", async () => {
    await put("taken", "theirs");
    const page = await here.at("vault");
    await page.getByRole("button", { name: "Create secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Create secret" });
    await dialog.getByLabel("Name").fill("taken");
    await dialog.getByLabel("Value").fill("mine");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("button", { name: "Compare" }).click();
    await dialog.getByText("Version 1, theirs").waitFor();
    await dialog.getByLabel("Name").fill("free");
    await dialog.getByText("Version 1, theirs").waitFor({ state: "detached" });
    expect(await dialog.getByText("Somebody wrote another version meanwhile.").count()).toBe(0);
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText("Secret saved").waitFor();
    await page.getByRole("link", { name: "free" }).waitFor();
  });

  it("saved files have what the tables show: until when a secret can be restored, roles, and ends", async () => {
    await put("old", "x");
    const page = await here.at("vault");
    await rowButton(page, "old", "Delete").click();
    const asked = page.getByRole("alertdialog", { name: "Delete old?" });
    await asked.getByRole("textbox").fill("old");
    await asked.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Secret deleted").waitFor();
    await page.goto(`${here.url}/console/vault?deleted=true`);
    await page.getByRole("cell", { name: "old", exact: true }).waitFor();
    expect(await saved(page)).toMatch(/,Restorable until\r\nold,1,,\d{4}-\S+Z,\d{4}-\S+Z\r\n/u);

    const token = await here.app.login();
    const { body } = await here.app.call("GET", "/api/auth/me", { token });
    const organization = body.org_uuid as string;
    const identity = { name: "packer", role_id: 3 };
    await here.app.call("POST", `/api/organizations/${organization}/service-identities`, { token, body: identity });
    await page.goto(`${here.url}/console/identities`);
    await page.getByRole("cell", { name: "Employee" }).waitFor();
    expect(await saved(page)).toContain("packer,,employee,");

    const price = { product: "Pro", plan: "pro", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
    const regions = [{ region: "DE", currency: "eur", unit_amount_cents: 1_200 }];
    await here.app.call("POST", "/api/admin/pricing/prices", { token, body: { ...price, regions } });
    await page.goto(`${here.url}/console/platform/prices`);
    await page.getByRole("cell", { name: "Pro", exact: true }).first().waitFor();
    expect(await saved(page)).toContain(",DE eur,active,");
  });

  it("the page of an unknown secret offers nothing that would be done with it", async () => {
    const page = await here.at("vault/no.such");
    await page.getByRole("alert").getByText("No such secret.").waitFor();
    for (const name of ["New version", "Reveal", "Compare", "Delete"])
      expect(await page.getByRole("button", { name, exact: true }).isDisabled(), name).toBe(true);
  });
});
