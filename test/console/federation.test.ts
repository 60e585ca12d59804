import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startHostileProvider } from "../oidc/hostile-provider.ts";
import type { HostileProvider } from "../oidc/hostile-provider.ts";
import { publicUrl, sendBack } from "./at-doors.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

const env = await publicUrl();

describeInBrowser("pages of federation", () => {
  const here = surroundings(env);
  let provider: HostileProvider;

  beforeAll(async () => {
    provider = await startHostileProvider(Date.now);
    here.friends.add(new URL(provider.issuer).host);
    sendBack(provider);
  });
  afterAll(() => provider.close());

  const at = (path: string): Promise<Page> => here.at(path);

  /** Proves anew who the person is, when the console asks before `done` is there. */
  async function stepUp(page: Page, done: Locator): Promise<void> {
    const dialog = page.getByRole("dialog", { name: "Confirm it is you" });
    await dialog.or(done).first().waitFor();
    if (!(await dialog.isVisible())) return;
    await dialog.getByRole("radio", { name: "Password" }).check();
    await dialog.getByRole("textbox", { name: "Password" }).fill(here.app.owner.password);
    await dialog.getByRole("button", { name: "Confirm" }).click();
  }

  it("a connection is made from a preset, tested, required, and deleted by its name", async () => {
    const page = await at("sso");
    await page.getByText("No identity provider is connected yet.", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Create connection" }).click();
    let dialog = page.getByRole("dialog", { name: "Create connection" });
    await dialog.getByLabel("Provider").selectOption("Keycloak");
    await dialog.getByLabel("Host").fill("login.example.com");
    await dialog.getByLabel("Realm").fill("staff");
    const discovery = dialog.getByLabel("Discovery URL");
    expect(await discovery.inputValue()).toBe(
      "https://login.example.com/realms/staff/.well-known/openid-configuration",
    );
    await discovery.fill(provider.discoveryUrl);
    await dialog.getByLabel("Name", { exact: true }).fill("Corporate");
    await dialog.getByLabel("Client id").fill(" atrium-client ");
    await dialog.getByLabel("Client secret", { exact: true }).fill(" a-client-secret ");
    await dialog.getByLabel("Allowed domains").fill("corp.test, www.corp.test");
    await dialog.getByRole("button", { name: "Create" }).click();
    dialog = page.getByRole("dialog", { name: "Register Corporate at the provider" });
    await dialog.getByText(`${here.url}/api/auth/oidc/`, { exact: false }).first().waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();

    await rowButton(page, "Corporate", "Test connection").click();
    dialog = page.getByRole("dialog", { name: "The connection works" });
    await stepUp(page, dialog);
    await expect.poll(() => dialog.getByText("Passed").count()).toBe(5);
    await dialog.getByRole("button", { name: "Close" }).click();

    provider.subject = { sub: "eve", email: "eve@evil.test", email_verified: true };
    await rowButton(page, "Corporate", "Test sign-in").click();
    dialog = page.getByRole("dialog", { name: "Test sign-in by Corporate" });
    const openProvider = async (): Promise<Page> => {
      const opened = page.context().waitForEvent("page");
      await dialog.getByRole("button", { name: "Open the provider" }).click();
      return opened;
    };
    const refused = await openProvider();
    await refused.getByRole("heading", { name: "You are not signed in" }).waitFor();
    await refused.close();
    provider.subject = { sub: "ada", email: "ada@corp.test", email_verified: true };
    const passed = await openProvider();
    await passed.getByRole("heading", { name: "The sign-in works" }).waitFor();
    expect(passed.url()).not.toContain("session_token");
    await dialog.getByText("Members can sign in.", { exact: false }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.reload();
    await page.getByText("no verified address, or one of a domain that is not allowed", { exact: false }).waitFor();

    const required = page.getByRole("switch", { name: "Require single sign-on" });
    await required.click();
    const isRequired = page.getByText("Single sign-on is required", { exact: true });
    await stepUp(page, isRequired);
    await isRequired.waitFor();
    await expect.poll(() => required.isChecked()).toBe(true);
    await required.click();
    await page.getByText("Other ways to sign in are open").waitFor();

    await rowButton(page, "Corporate", "Edit").click();
    dialog = page.getByRole("dialog", { name: "Edit Corporate" });
    const uris = dialog.getByLabel("Redirect URIs");
    const first = await uris.inputValue();
    await uris.fill(`${first}\nhttps://app.corp.test/in`);
    await page.keyboard.press("Escape");
    await page.getByRole("alertdialog", { name: "Discard changes?" }).getByRole("button", { name: "Cancel" }).click();
    await dialog.getByLabel("Allowed domains").fill("corp.test");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "corp.test", exact: true }).waitFor();
    await rowButton(page, "Corporate", "Edit").click();
    expect(await uris.inputValue()).toBe(`${first}\nhttps://app.corp.test/in`);
    await dialog.getByRole("button", { name: "Cancel" }).click();

    await rowButton(page, "Corporate", "Delete").click();
    const asked = page.getByRole("alertdialog", { name: "Delete Corporate?" });
    await asked.getByRole("textbox").fill("Corporate");
    await asked.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No identity provider is connected yet.", { exact: false }).waitFor();
  });

  it("a SCIM token is made, shown once, used by a directory, and revoked", async () => {
    const page = await at("scim");
    await page.getByRole("button", { name: "New token" }).click();
    const dialog = page.getByRole("dialog", { name: "New token" });
    await dialog.getByLabel("Name").fill("okta");
    await dialog.getByRole("button", { name: "Create" }).click();
    const secret = page.getByRole("alertdialog", { name: "Save this SCIM token" });
    await secret.getByRole("button", { name: "Show" }).click();
    const token = (await secret.locator("pre").textContent()) ?? "";
    await secret.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("cell", { name: "okta", exact: true }).waitFor();
    expect(await page.content()).not.toContain(token);
    const baseUrl = new URL((await page.locator("dd code").first().textContent()) ?? "");
    const group = await here.app.call("POST", `${baseUrl.pathname}/Groups`, {
      token,
      body: { schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"], displayName: "Crew" },
    });
    expect(group.status).toBe(201);
    await page.reload();
    await page.getByRole("table", { name: "Last events" }).getByRole("cell", { name: "scim.group.created" }).waitFor();
    await page.getByLabel("SCIM token", { exact: true }).fill(token);
    await page.getByRole("button", { name: "Show teams" }).click();
    await page.getByRole("table", { name: "Teams" }).getByRole("cell", { name: "Crew", exact: true }).waitFor();
    expect(await page.getByLabel("SCIM token", { exact: true }).inputValue()).toBe("");
    await rowButton(page, "okta", "Revoke").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("cell", { name: "Revoked" }).waitFor();
    expect((await here.app.call("GET", `${baseUrl.pathname}/Groups`, { token })).status).toBe(401);
  });

  it("a certificate is issued for a key that stays in the browser, and revoked; its CA is deleted", async () => {
    const page = await at("certificates");
    await page.getByRole("button", { name: "Create CA" }).click();
    let dialog = page.getByRole("dialog", { name: "Create CA" });
    await dialog.getByLabel("Common name").fill("Acme internal CA");
    await dialog.getByRole("button", { name: "Create" }).click();
    const [ca] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download ca.pem" }).click(),
    ]);
    await page.getByRole("button", { name: "Issue certificate" }).click();
    dialog = page.getByRole("dialog", { name: "Issue certificate" });
    await dialog.getByLabel("Common name").fill("worker");
    await dialog.getByLabel("SANs").fill("worker.example.com, 10.0.0.7");
    const request = page.waitForRequest((sent) => sent.url().endsWith("/IssueCertificate"));
    await dialog.getByRole("button", { name: "Issue" }).click();
    expect((await request).postData()).not.toContain("PRIVATE KEY");
    const secret = page.getByRole("alertdialog", { name: "Save this certificate" });
    await secret.getByRole("button", { name: "Show" }).click();
    const pem = (await secret.locator("pre").textContent()) ?? "";
    await secret.getByRole("button", { name: "I have saved it" }).click();
    const certificate = new X509Certificate(pem);
    const authority = new X509Certificate(await readFile(await ca.path()));
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(certificate.subjectAltName).toBe("DNS:worker.example.com, IP Address:10.0.0.7");
    expect(certificate.checkPrivateKey(createPrivateKey(pem.slice(pem.indexOf("-----BEGIN PRIVATE KEY"))))).toBe(true);
    await rowButton(page, "worker", "Revoke").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("cell", { name: "Revoked" }).waitFor();
    await page.getByRole("button", { name: "Delete CA" }).click();
    const asked = page.getByRole("alertdialog", { name: "Delete Acme internal CA?" });
    await asked.getByRole("textbox").fill("Acme internal CA");
    await asked.getByRole("button", { name: "Delete CA" }).click();
    await page.getByText("This organization has no certificate authority yet.").waitFor();
  });

  it("an identity issues SVIDs and tokens, shows the trust bundle, and is deleted by its name", async () => {
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const { body: roles } = await here.app.call("GET", "/api/roles", { token });
    const made = await here.app.call("POST", `/api/organizations/${me.org_uuid}/service-identities`, {
      token,
      body: { name: "packer", role_id: roles.data[0].id },
    });
    const page = await at(`identities/${made.body.identity_id}`);
    await page.getByRole("button", { name: "Issue SVID" }).click();
    const saved = page.getByRole("alertdialog", { name: "Save this SVID" });
    await stepUp(page, saved);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      saved.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(file.suggestedFilename()).toBe("svid.pem");
    await saved.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("meter", { name: "Life left" }).waitFor();
    await page.getByText("openssl verify -CAfile ca.pem svid.pem", { exact: false }).waitFor();
    await page.getByRole("definition").filter({ hasText: "1 certificate" }).waitFor();
    await page.getByRole("button", { name: "Issue JWT-SVID" }).click();
    const dialog = page.getByRole("dialog", { name: "Issue JWT-SVID" });
    await dialog.getByLabel("Audience").fill("https://api.example.com");
    await dialog.getByRole("button", { name: "Issue" }).click();
    const jwt = page.getByRole("alertdialog", { name: "Save this JWT-SVID" });
    await stepUp(page, jwt);
    await jwt.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("button", { name: "Create automation token" }).click();
    const creating = page.getByRole("dialog", { name: "Create automation token" });
    await creating.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "I have saved it" }).click();
    await rowButton(page, "packer token", "Revoke").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("table", { name: "Automation tokens" }).getByText("Revoked").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    const asked = page.getByRole("alertdialog", { name: "Delete packer?" });
    await asked.getByRole("textbox").fill("packer");
    await asked.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { level: 1, name: "Service identities" }).waitFor();
  });

  it("provider, exact budget, models and MCP servers are saved, and survive a reload", async () => {
    const page = await at("ai");
    await page.getByLabel("Provider", { exact: true }).selectOption("Anthropic");
    const budget = page.getByLabel("Budget USD");
    await budget.fill("250.505");
    await page.getByRole("button", { name: "Save budget" }).click();
    await page.getByText("at most two decimals", { exact: false }).waitFor();
    await budget.fill("250.55");
    await page.getByRole("button", { name: "Save budget" }).click();
    await page.getByText("Provider and budget saved").waitFor();
    await page.getByLabel("SLM", { exact: true }).fill("small-1");
    await page.getByLabel("LLM", { exact: true }).fill("large-1");
    await page.getByRole("checkbox", { name: /^Auto escalate/u }).check();
    await page.getByRole("button", { name: "Save models" }).click();
    await page.getByText("Models saved").waitFor();
    await page.getByRole("button", { name: "Add MCP server" }).click();
    const dialog = page.getByRole("dialog", { name: "Add MCP server" });
    await dialog.getByLabel("Name").fill("tickets");
    await dialog.getByLabel("Install command").fill("npx -y @example/tickets");
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByRole("cell", { name: "tickets", exact: true }).waitFor();
    await page.reload();
    await expect.poll(() => budget.inputValue()).toBe("250.55");
    expect(await page.getByLabel("Provider", { exact: true }).inputValue()).toBe("anthropic");
    await expect.poll(() => page.getByLabel("LLM", { exact: true }).inputValue()).toBe("large-1");
    await page.getByRole("row").filter({ hasText: "mcp-server-fetch" }).getByText("Built in").waitFor();
    expect(await rowButton(page, "mcp-server-fetch", "Remove").count()).toBe(0);
    await rowButton(page, "tickets", "Remove").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("MCP server removed").waitFor();
    await expect.poll(() => page.getByRole("cell", { name: "tickets", exact: true }).count()).toBe(0);
  });
});
