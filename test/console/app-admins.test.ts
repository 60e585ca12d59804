import { expect, it } from "vitest";
import { draftOf } from "../support/market.ts";
import { founder, member, password } from "../support/people.ts";
import { describeInBrowser, rowButton, surroundings, visit } from "./browser.ts";

describeInBrowser("admins of an app", () => {
  const here = surroundings({ SERVICE_OPEN_SIGNUP: "1" }, "serve");

  it("an admin of an app who is no admin of the organization adds another by their id", async () => {
    const owner = await founder(here.app, "Orbit Works");
    const [by, nia] = [await member(here.app, owner), await member(here.app, owner)];
    const draft = draftOf("orbit", "http://127.0.0.1:9/provision");
    const { body: made } = await here.app.call("POST", "/api/marketplace/apps", { token: owner.token, body: draft });
    const admins = `/api/marketplace/apps/${made.app_id as string}/admins`;
    await here.app.call("POST", admins, { token: owner.token, body: { user_uuid: by.userUuid } });

    const page = await here.open("/sign-in");
    await page.getByLabel("Organization").fill(owner.orgName);
    await page.getByLabel("Email", { exact: true }).fill(by.email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await visit(page, `publish/${made.app_id as string}?tab=admins`);
    await page.getByRole("button", { name: "Add admin" }).click();
    const dialog = page.getByRole("dialog", { name: "Add admin" });
    await dialog.getByLabel("User id").fill("nia");
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.getByText("Enter an id of 36 characters.").waitFor();
    await dialog.getByLabel("User id").fill(` ${nia.userUuid} `);
    await dialog.getByRole("button", { name: "Add" }).click();
    await rowButton(page, nia.email, "Revoke").waitFor();
    expect(await page.getByRole("alert").filter({ hasText: /\S/u }).count()).toBe(0);
  });

  it("a member who does not administer an app sees its listing, and nothing that changes it", async () => {
    const owner = await founder(here.app, "Lunar Works");
    const eve = await member(here.app, owner);
    const draft = draftOf("lunar", "http://127.0.0.1:9/provision");
    const { body: made } = await here.app.call("POST", "/api/marketplace/apps", { token: owner.token, body: draft });
    const page = await here.open("/sign-in");
    await page.getByLabel("Organization").fill(owner.orgName);
    await page.getByLabel("Email", { exact: true }).fill(eve.email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await visit(page, `publish/${made.app_id as string}`);
    await page.getByText("You do not administer this app.", { exact: false }).waitFor();
    await page.getByText("Dashboards").waitFor();
    for (const name of ["Edit", "Archive", "Add listing"])
      expect(await page.getByRole("main").getByRole("button", { name, exact: true }).count(), name).toBe(0);
    expect(await page.getByRole("tab").count()).toBe(0);
    expect(await page.getByRole("alert").filter({ hasText: /\S/u }).count()).toBe(0);
  });
});
