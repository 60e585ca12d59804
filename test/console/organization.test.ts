import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeInBrowser, rowButton, surroundings, visit } from "./browser.ts";

const PAGES = [
  ["members", "Members"],
  ["invitations", "Invitations"],
  ["roles", "Roles"],
  ["access", "Explain access"],
  ["settings", "Organization"],
  ["sessions", "Session inventory"],
  ["audit", "Audit log"],
  ["keys", "Signing keys"],
  ["vault", "Vault"],
  ["identities", "Service identities"],
  ["api-keys", "API keys"],
  ["delegated", "Delegated credentials"],
  ["webhooks", "Webhooks"],
  ["apps", "Marketplace"],
  ["publish", "My apps"],
  ["platform/approvals", "Approvals"],
  ["platform/vault", "Vault seal"],
] as const;

describeInBrowser("pages of an organization", () => {
  const here = surroundings({}, "all");

  const at = (path: string): Promise<Page> => here.at(path);

  /** Proves anew who the person is, when the console asks. */
  async function stepUp(page: Page): Promise<void> {
    const dialog = page.getByRole("dialog", { name: "Confirm it is you" });
    await dialog.getByRole("radio", { name: "Password" }).check();
    await dialog.getByRole("textbox", { name: "Password" }).fill(here.app.owner.password);
    await dialog.getByRole("button", { name: "Confirm" }).click();
  }

  it("every page opens with its heading, a list or an empty state, and no failure", async () => {
    const page = await at("members");
    for (const [path, heading] of PAGES) {
      await visit(page, path);
      await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
      await expect.poll(() => page.locator('[aria-busy="true"]').count()).toBe(0);
      expect(await page.getByRole("alert").filter({ hasText: /\S/u }).count(), path).toBe(0);
    }
  });

  it("an API key says what its scopes open, is shown once, and can be revoked", async () => {
    const page = await at("api-keys");
    await page.getByRole("button", { name: "Create API key" }).click();
    const dialog = page.getByRole("dialog", { name: "Create API key" });
    await dialog.getByLabel("Name").fill("ci");
    await dialog.getByText(/Opens 0 of \d+ operations/u).waitFor();
    await dialog.getByRole("checkbox", { name: "read:users" }).check();
    await dialog.getByText(/Opens [1-9]\d* of \d+ operations/u).waitFor();
    await dialog.getByRole("button", { name: "Create" }).click();
    const secret = page.getByRole("alertdialog", { name: "Save this API key" });
    await secret.getByRole("button", { name: "Show" }).click();
    const key = (await secret.locator("pre").textContent()) ?? "";
    expect(key).toMatch(/^atr_/u);
    const users = await here.app.call("GET", "/api/users", { token: key });
    expect(users.status).toBe(200);
    await secret.getByRole("button", { name: "I have saved it" }).click();
    await page.reload();
    await page.getByRole("cell", { name: "ci", exact: true }).waitFor();
    expect(await page.content()).not.toContain(key);
    await rowButton(page, "ci", "Revoke").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("cell", { name: "Revoked" }).waitFor();
    expect((await here.app.call("GET", "/api/users", { token: key })).status).toBe(401);
  });

  it("the audit log is proved in the browser, and a changed byte names the event", async () => {
    const page = await at("audit");
    await page.getByRole("button", { name: "Verify in this browser" }).click();
    await page.getByText(/^Valid: \d+ events?, up to number \d+/u).waitFor();
    await page.getByRole("button", { name: "Export" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: "NDJSON", exact: true }).click(),
    ]);
    const lines = (await readFile(await download.path(), "utf8")).split("\n");
    const verify = (file: readonly string[]): Promise<void> =>
      page.getByLabel("Verify a file").setInputFiles({
        name: "audit-events.ndjson",
        mimeType: "application/x-ndjson",
        buffer: Buffer.from(file.join("\n")),
      });
    const event = JSON.parse(lines[0] ?? "") as { event_id: string; ip_address: string };
    await verify(lines.with(0, JSON.stringify({ ...event, ip_address: "203.0.113.9" })));
    await page.getByText(`Not valid: event ${event.event_id}`, { exact: false }).waitFor();
    await verify(lines.map((line) => line.replace(/"kid":"[^"]+"/u, '"kid":"gone"')));
    await page.getByText(/^Not verified: .*no key gone, .*nothing shows that the service wrote them/u).waitFor();
  });

  it("a filter of the audit log survives a reload and the way back", async () => {
    const page = await at("audit?outcome=failure");
    await page.getByRole("button", { name: "Remove filter Outcome" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Remove filter Outcome" }).waitFor();
    expect(new URL(page.url()).searchParams.get("outcome")).toBe("failure");
  });

  it("an event of the audit log has a page of its own, and leads to the others of its actor", async () => {
    const page = await at("audit?type=login.password");
    await page.getByRole("link", { name: "login.password" }).first().click();
    await page.getByRole("heading", { level: 1, name: "login.password" }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/console\/audit\/[0-9a-f-]{36}$/u);
    await page.reload();
    await page.getByText("Metadata", { exact: true }).waitFor();
    await page.getByRole("button", { name: "All by this actor" }).click();
    await page.getByRole("button", { name: "Remove filter Actor" }).waitFor();
    await page.goto(`${here.url}/console/audit/00000000-0000-4000-8000-000000000000`);
    await page.getByText("has no event with this id", { exact: false }).waitFor();
  });

  it("secrets are shown by folder", async () => {
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    for (const name of ["folder.one", "folder.two", "alone"])
      await here.app.call("PUT", `/api/admin/organizations/${me.org_uuid}/secrets/${name}`, {
        token,
        body: { value: "x" },
      });
    const page = await at("vault");
    await page.getByRole("link", { name: "alone" }).waitFor();
    await page.getByLabel("Folder", { exact: true }).selectOption({ label: "folder (2)" });
    await page.getByRole("link", { name: "folder.two" }).waitFor();
    await expect.poll(() => page.getByRole("link", { name: "alone" }).count()).toBe(0);
    await page.reload();
    await page.getByRole("link", { name: "folder.one" }).waitFor();
    expect(await page.getByRole("link", { name: "alone" }).count()).toBe(0);
    await page.getByRole("button", { name: "Remove filter Folder" }).click();
    await page.getByRole("link", { name: "alone" }).waitFor();
  });

  it("what was revealed of a secret is gone on the page of another, whose heading has the focus", async () => {
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    for (const [name, value] of [
      ["pair.one", "value of one"],
      ["pair.two", "value of two"],
    ] as const)
      await here.app.call("PUT", `/api/admin/organizations/${me.org_uuid}/secrets/${name}`, { token, body: { value } });
    const page = await at("vault/pair.one");
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByText("value of one", { exact: true }).waitFor();
    await visit(page, "vault/pair.two");
    await page.getByRole("heading", { level: 1, name: "pair.two" }).waitFor();
    expect(await page.locator(":focus").textContent()).toBe("pair.two");
    expect(await page.getByText("value of one").count()).toBe(0);
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByText("value of two", { exact: true }).waitFor();
  });

  it("a secret keeps its lines; its form is not lost unasked, and compares it with what others wrote", async () => {
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const path = `/api/admin/organizations/${me.org_uuid}/secrets/tls.key`;
    const key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END PRIVATE KEY-----\n";
    const page = await at("vault");
    await page.getByRole("button", { name: "Create secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Create secret" });
    await dialog.getByLabel("Name").fill("tls.key");
    await page.keyboard.press("Escape");
    await page.getByRole("alertdialog", { name: "Discard changes?" }).getByRole("button", { name: "Cancel" }).click();
    await dialog.getByLabel("Value").fill(key);
    await here.app.call("PUT", path, { token, body: { value: "theirs" } });
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("button", { name: "Compare" }).waitFor();
    await here.app.call("DELETE", path, { token });
    await dialog.getByRole("button", { name: "Compare" }).click();
    await dialog.getByRole("alert").getByText("No such secret.").waitFor();
    await here.app.call("PUT", path, { token, body: { value: "theirs" } });
    await dialog.getByRole("button", { name: "Compare" }).click();
    await dialog.getByRole("definition").getByText("theirs", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText("Secret saved").waitFor();
    expect((await here.app.call("GET", path, { token })).body.value).toBe(key);
  });

  it("a secret is written twice, compared, revealed, deleted and restored", async () => {
    const page = await at("vault");
    await page.getByRole("button", { name: "Create secret" }).click();
    let dialog = page.getByRole("dialog", { name: "Create secret" });
    await dialog.getByLabel("Name").fill("database.password");
    await dialog.getByLabel("Value").fill("first value");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("button", { name: "Rotate organization key" }).waitFor();
    await page.getByRole("link", { name: "database.password" }).click();
    await page.getByRole("heading", { level: 2, name: "Who can read this" }).waitFor();
    await page.getByRole("button", { name: "New version" }).click();
    dialog = page.getByRole("dialog", { name: "New version" });
    await dialog.getByLabel("Value").fill("second value");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("checkbox", { name: "Version 2" }).check();
    await page.getByRole("checkbox", { name: "Version 1" }).check();
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByText("first value").waitFor();
    await page.getByText("second value").waitFor();
    await page.getByRole("button", { name: "Hide" }).click();
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByText("second value").waitFor();
    expect(await page.getByText("first value").count()).toBe(0);
    await page.getByRole("button", { name: "Delete" }).click();
    const asked = page.getByRole("alertdialog");
    expect(await asked.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true);
    await asked.getByRole("textbox").fill("database.password");
    await asked.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { level: 1, name: "Vault" }).waitFor();
    await page.getByRole("tab", { name: "Deleted" }).click();
    const row = page.getByRole("row").filter({ hasText: "database.password" });
    await row.getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByText("Secret restored").waitFor();
    await page.goto(`${here.url}/console/vault`);
    await page.getByRole("link", { name: "database.password" }).waitFor();
  });

  it("an SVID takes a step-up, and its key is shown once", async () => {
    const page = await at("identities");
    await page.getByRole("button", { name: "Create service identity" }).click();
    const dialog = page.getByRole("dialog", { name: "Create service identity" });
    await dialog.getByLabel("Name").fill("worker");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("link", { name: "worker" }).click();
    await page.getByRole("button", { name: "Issue SVID" }).click();
    await page.getByText("To go on with “Issue SVID”, prove who you are.", { exact: false }).waitFor();
    await stepUp(page);
    const secret = page.getByRole("alertdialog", { name: "Save this SVID" });
    await secret.getByRole("button", { name: "Show" }).click();
    const text = (await secret.locator("pre").textContent()) ?? "";
    expect(text).toContain("BEGIN CERTIFICATE");
    expect(text).toContain("PRIVATE KEY");
    await secret.getByRole("button", { name: "I have saved it" }).click();
    await page.getByText(/^spiffe:\/\//u).waitFor();
    expect(await page.content()).not.toContain("PRIVATE KEY");

    await page.getByRole("button", { name: "Edit" }).click();
    const edit = page.getByRole("dialog", { name: "Edit worker" });
    await edit.getByLabel("Name").fill("courier");
    await edit.getByLabel("Role").selectOption({ label: "Manager" });
    await edit.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "courier" }).waitFor();
    await page.getByText("Manager", { exact: true }).waitFor();
  });

  it("a test event shows its attempt, and Redeliver adds one", async () => {
    let calls = 0;
    const receiver = createServer((_request, response) =>
      ++calls === 1 ? response.writeHead(500).end("no power") : response.writeHead(200).end("thanks"),
    );
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`;
    try {
      const page = await at("webhooks");
      await page.getByRole("button", { name: "Create webhook" }).click();
      const dialog = page.getByRole("dialog", { name: "Create webhook" });
      await dialog.getByLabel("URL").fill(url);
      await dialog.getByText("Sample payloads").click();
      await dialog.getByLabel("Event", { exact: true }).selectOption("install.active");
      await dialog.getByLabel("Sample of install.active").filter({ hasText: '"install_id"' }).waitFor();
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "I have saved it" }).click();
      await page.getByRole("link", { name: url }).click();
      await page.getByRole("button", { name: "Send test" }).click();
      await page.getByRole("cell", { name: "webhook.test" }).waitFor();
      await page.getByRole("cell", { name: "500" }).waitFor();
      await page.getByRole("link", { name: "webhook.test" }).click();
      await page.getByRole("heading", { level: 1, name: "webhook.test" }).waitFor();
      const attempts = page.getByRole("listitem").filter({ hasText: /^\d{3} ·/u });
      await attempts.filter({ hasText: /^500 ·[^]*no power/u }).waitFor();
      // The service repeats it after five seconds by itself; until then it is open.
      await attempts.filter({ hasText: /^200 ·[^]*thanks/u }).waitFor();
      await page.getByRole("button", { name: "Redeliver", exact: true }).click();
      await expect.poll(() => attempts.count()).toBe(3);
    } finally {
      receiver.close();
    }
  });

  it("a sealed vault says so, until it is unsealed", async () => {
    const page = await at("platform/vault");
    await page.getByRole("button", { name: "Seal", exact: true }).click();
    const dialog = page.getByRole("alertdialog", { name: "Seal the vault?" });
    await dialog.getByRole("textbox").fill("vault");
    await dialog.getByRole("button", { name: "Seal" }).click();
    await page.getByRole("heading", { level: 2, name: "Unseal" }).waitFor();
    await page.goto(`${here.url}/console/vault`);
    await page.getByText("The vault is sealed.", { exact: false }).first().waitFor();
  });
});
