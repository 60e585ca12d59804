import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { member, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

describeInBrowser("pages of people and powers", () => {
  const here = surroundings({}, "serve");

  const at = (path: string): Promise<Page> => here.at(path);

  async function owner(): Promise<Somebody> {
    const token = await here.app.login();
    const { body } = await here.app.call("GET", "/api/auth/me", { token });
    return {
      token,
      refreshToken: "",
      email: here.app.owner.email,
      userUuid: body.user_uuid,
      org: body.org_uuid,
      orgName: body.org_name,
    };
  }

  /** Proves anew who the person is, when the console asks. */
  async function stepUp(page: Page): Promise<void> {
    const dialog = page.getByRole("dialog", { name: "Confirm it is you" });
    await dialog.getByRole("radio", { name: "Password" }).check();
    await dialog.getByRole("textbox", { name: "Password" }).fill(here.app.owner.password);
    await dialog.getByRole("button", { name: "Confirm" }).click();
  }

  it("many people are invited at once, and each line says how it went", async () => {
    const page = await at("members");
    await page.getByRole("button", { name: "Invite" }).click();
    const dialog = page.getByRole("dialog", { name: "Invite" });
    const own = here.app.owner.email;
    await dialog.getByLabel("Emails").fill(`ada@people.test\ngrace@people.test, manager\n${own}\nnobody`);
    await dialog.getByRole("button", { name: "Invite" }).click();
    await dialog.getByText("2 of 4 lines invited").waitFor();
    const lines = await dialog.getByRole("list", { name: "Results" }).getByRole("listitem").allTextContents();
    expect(lines[0]).toContain("Invited as Employee");
    expect(lines[1]).toContain("Invited as Manager");
    expect(lines[2]).not.toContain("Invited");
    expect(lines[3]).toContain("There is no address in this line.");
    expect(await dialog.getByLabel("Emails").inputValue()).toBe(`${own}\nnobody`);
    await page.goto(`${here.url}/console/invitations`);
    await rowButton(page, "grace@people.test", "Withdraw").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Withdraw" }).click();
    await page.getByText("Invitation withdrawn").waitFor();
  });

  it("a member's role is changed after its difference is shown; they are deactivated and removed", async () => {
    const by = await owner();
    const nia = await member(here.app, by);
    const page = await at("members");
    await page.getByRole("link", { name: nia.email }).click();
    await page.getByRole("heading", { level: 1, name: "Nia", exact: true }).waitFor();
    await page.getByRole("table", { name: "Sessions" }).getByRole("button", { name: "Revoke" }).waitFor();
    await page.getByRole("table", { name: "Last events" }).getByText("user.joined").waitFor();

    await page.getByRole("button", { name: "Change role" }).click();
    const dialog = page.getByRole("dialog", { name: "Change role" });
    await dialog.getByLabel("Role").selectOption("Limited access");
    await dialog.getByRole("list", { name: "Lost" }).getByText("user:read", { exact: true }).waitFor();
    await dialog.getByLabel("Role").selectOption("Manager");
    await dialog.getByRole("list", { name: "Gained" }).getByText("billing:read", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Change role" }).click();
    await page.getByText("Role changed").waitFor();
    const { body } = await here.app.call("GET", `/api/users?user_uuid=${nia.userUuid}`, { token: by.token });
    expect(body.data[0].role).toBe("manager");

    await page.getByRole("button", { name: "Deactivate" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Deactivate" }).click();
    await page.getByText("Nia is not signed in.").waitFor();
    await page.getByRole("button", { name: "Reactivate" }).click();
    await page.getByRole("button", { name: "Deactivate" }).waitFor();

    await page.getByRole("button", { name: "Make owner" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Make owner" }).click();
    await stepUp(page);
    await page.getByText("Admin, owner").waitFor();

    await page.getByRole("button", { name: "Remove", exact: true }).click();
    const asked = page.getByRole("alertdialog", { name: "Remove Nia?" });
    expect(await asked.getByRole("button", { name: "Remove" }).isDisabled()).toBe(true);
    await asked.getByRole("textbox").fill(nia.email);
    await asked.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();
    await page.getByRole("link", { name: nia.email }).waitFor({ state: "detached" });
  });

  it("a role is created, edited with its difference, and simulated; built-in roles are locked", async () => {
    const nia = await member(here.app, await owner(), 4);
    const page = await at("roles");
    await page.getByRole("table", { name: "Permission matrix" }).getByText("vault:write").waitFor();
    await page.getByRole("button", { name: "Create role" }).click();
    let dialog = page.getByRole("dialog", { name: "Create role" });
    await dialog.getByLabel("Name").fill("<img src=x onerror=alert(1)>");
    await dialog.getByRole("checkbox", { name: "event:read" }).check();
    await dialog.getByRole("checkbox", { name: "user:read" }).check();
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { level: 1, name: "<img src=x onerror=alert(1)>" }).waitFor();

    await page.getByRole("button", { name: "Edit" }).click();
    dialog = page.getByRole("dialog", { name: "Edit" });
    await dialog.getByRole("checkbox", { name: "event:read" }).uncheck();
    await dialog.getByRole("checkbox", { name: "role:read" }).check();
    expect(await dialog.getByRole("list", { name: "Gained" }).allTextContents()).toEqual(["role:read"]);
    expect(await dialog.getByRole("list", { name: "Lost" }).allTextContents()).toEqual(["event:read"]);
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Role saved").waitFor();

    await page.getByRole("button", { name: "Simulate" }).click();
    dialog = page.getByRole("dialog", { name: "Simulate" });
    await dialog.getByLabel("Member").fill(nia.email);
    await dialog.getByRole("list", { name: "Lost" }).getByText("app:read", { exact: true }).waitFor();
    await dialog.getByLabel("Role").selectOption("Employee");
    await dialog.getByRole("list", { name: "Gained" }).getByText("app:publish", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    const token = await here.app.login();
    const { body } = await here.app.call("GET", `/api/users?user_uuid=${nia.userUuid}`, { token });
    expect(body.data[0].role).toBe("observer");

    await page.goto(`${here.url}/console/roles/4`);
    await page.getByRole("heading", { level: 1, name: "Observer" }).waitFor();
    await page.getByRole("link", { name: nia.email }).waitFor();
    expect(await page.getByRole("button", { name: "Edit" }).count()).toBe(0);
  });

  it("access is explained with the claim that decides it, and copied as a check", async () => {
    const page = await at("access");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByLabel("Feature").fill("sso nothing-of-the-kind");
    await page.getByRole("button", { name: "Check", exact: true }).click();
    const row = page
      .getByRole("table", { name: "Verdicts" })
      .getByRole("row")
      .filter({ hasText: "nothing-of-the-kind" });
    await row.getByText("Granted", { exact: true }).waitFor();
    await row.getByText("role:platform_admin").waitFor();
    await row.getByRole("button", { name: "Copy as check" }).click();
    await page.getByText("Copied the check of nothing-of-the-kind").waitFor();
    const { org } = await owner();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(copied).toContain(`-d '${JSON.stringify({ feature: "nothing-of-the-kind", org_uuid: org })}'`);
    await page.reload();
    await row.getByText("Granted", { exact: true }).waitFor();
    await row.getByText("role:platform_admin").waitFor();
  });

  it("an automation token says what its role opens, is shown once, and is revoked", async () => {
    const { token, org } = await owner();
    const path = `/api/organizations/${org}/service-identities`;
    const { body: identity } = await here.app.call("POST", path, { token, body: { name: "deployer", role_id: 4 } });
    const page = await at("delegated");
    await page.getByRole("button", { name: "Create automation token" }).click();
    const dialog = page.getByRole("dialog", { name: "Create automation token" });
    await dialog.getByLabel("Name").fill("nightly");
    await dialog.getByLabel("Identity").selectOption("deployer");
    await dialog.getByText(/Opens [1-9]\d* of \d+ operations/u).waitFor();
    await dialog.getByRole("button", { name: "Create" }).click();
    const secret = page.getByRole("alertdialog", { name: "Save this automation token" });
    await secret.getByRole("button", { name: "Show" }).click();
    const value = (await secret.locator("pre").textContent()) ?? "";
    await secret.getByRole("button", { name: "I have saved it" }).click();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token: value });
    expect(me.principal).toEqual({ type: "automation_token", id: identity.identity_id });
    await page.reload();
    const row = page.getByRole("row").filter({ hasText: "nightly" });
    await row.getByText("Observer").waitFor();
    expect(await page.content()).not.toContain(value);
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
    await row.getByText("Revoked", { exact: true }).waitFor();
    expect((await here.app.call("GET", "/api/auth/me", { token: value })).status).toBe(401);
  });

  it("an account is added to this device and switched to", async () => {
    const nia = await member(here.app, await owner());
    const page = await at("me/sessions");
    await page.getByRole("button", { name: "Add account" }).click();
    const dialog = page.getByRole("dialog", { name: "Add account" });
    await dialog.getByLabel("Organization").fill(nia.orgName);
    await dialog.getByLabel("Email").fill(nia.email);
    await dialog.getByLabel("Password", { exact: true }).fill(password);
    await dialog.getByRole("button", { name: "Add account" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("table", { name: "Your sessions" }).getByText("This session", { exact: true }).waitFor();
    await rowButton(page, nia.email, "Forget account").click();
    const forget = page.getByRole("alertdialog", { name: `Forget ${nia.email}?` });
    await forget.getByRole("button", { name: "Forget account" }).waitFor();
    await forget.getByRole("button", { name: "Cancel" }).click();
    await rowButton(page, nia.email, "Switch account").click();
    await page.getByRole("button", { name: `Account: ${nia.email}` }).waitFor();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

    const other = await at("me/sessions");
    await other.getByRole("button", { name: "Add account" }).waitFor();
    await other.getByRole("row").filter({ hasText: here.app.owner.email }).getByText("This account").waitFor();
  });

  it("an organization is renamed, its mail domains are set, a member leaves it, and its owner deletes it", async () => {
    const by = await owner();
    const leaver = await member(here.app, by);
    const page = await at("settings");
    await page.getByRole("button", { name: "Rename" }).click();
    const dialog = page.getByRole("dialog", { name: "Rename" });
    await dialog.getByLabel("Name").fill("Acme & Daughters");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("button", { name: "Organization: Acme & Daughters" }).waitFor();
    await page.getByLabel("Jit domains").fill("acme.test\n@people.test");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Mail domains saved").waitFor();
    const { body } = await here.app.call("GET", `/api/organizations/${by.org}`, { token: by.token });
    expect(body).toMatchObject({ name: "Acme & Daughters", jit_domains: ["acme.test", "people.test"] });

    const other = await here.open("/sign-in");
    other.setDefaultTimeout(120_000);
    await other.getByLabel("Organization").fill("Acme & Daughters");
    await other.getByLabel("Email", { exact: true }).fill(leaver.email);
    await other.getByLabel("Password", { exact: true }).fill(password);
    await other.getByRole("button", { name: "Sign in" }).click();
    await other.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await other.goto(`${here.url}/console/me`);
    await other.getByRole("button", { name: "Leave organization" }).click();
    await other.getByRole("alertdialog").getByRole("textbox").fill("Acme & Daughters");
    await other.getByRole("alertdialog").getByRole("button", { name: "Leave organization" }).click();
    await other.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    const { body: left } = await here.app.call("GET", `/api/users?user_uuid=${leaver.userUuid}`, { token: by.token });
    expect(left.total).toBe(0);

    await page.getByRole("button", { name: "Delete organization" }).click();
    const asked = page.getByRole("alertdialog", { name: "Delete Acme & Daughters?" });
    await asked.getByRole("textbox").fill("Acme & Daughters");
    await asked.getByRole("button", { name: "Delete organization" }).click();
    await stepUp(page);
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    expect((await here.app.call("GET", `/api/organizations/${by.org}`, { token: by.token })).status).toBe(401);
  });
});
