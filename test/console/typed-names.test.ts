import { describe, expect, it } from "vitest";
import { asSeen } from "../../src/console/widgets/words.ts";
import { draftOf } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

describe("a text as it looks", () => {
  it.each([
    ["Acme  CRM ", "Acme CRM"],
    ["Acme\u00a0CRM\u200b", "Acme CRM"],
    ["\u202eAcme\t\u2066CRM\u2069", "Acme CRM"],
    ["\u200b \u2060", ""],
  ])("%j is %j", (text, seen) => {
    expect(asSeen(text)).toBe(seen);
  });
});

describeInBrowser("names that are typed to confirm", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("are compared as they look; where nothing is seen, the verb is asked for", async () => {
    const token = await here.app.login();
    const draft = draftOf("acme-crm", "http://127.0.0.1:9/provision");
    const { body: app } = await here.app.call("POST", "/api/marketplace/apps", { token, body: draft });
    // Names that were stored before they were checked.
    const rename = (name: string) =>
      runSql(here.app.databaseUrl, "update apps set name = $1 where slug = 'acme-crm'", [name]);
    await rename("Acme  CRM\u200b ");
    const page = await here.at(`publish/${app.app_id as string}`);
    await page.getByRole("button", { name: "Archive" }).click();
    const dialog = page.getByRole("alertdialog");
    const archive = dialog.getByRole("button", { name: "Archive" });
    await dialog.getByLabel("Type Acme CRM to confirm").fill("Acme");
    expect(await archive.isDisabled()).toBe(true);
    await dialog.getByLabel("Type Acme CRM to confirm").fill("Acme CRM");
    expect(await archive.isEnabled()).toBe(true);

    await rename("\u200b");
    await page.reload();
    await page.getByRole("button", { name: "Archive" }).click();
    expect(await archive.isDisabled()).toBe(true);
    await dialog.getByLabel("Type Archive to confirm").fill("Archive");
    await archive.click();
    await page.getByText("App archived").waitFor();
  });
});
