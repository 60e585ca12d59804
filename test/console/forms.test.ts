import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { draftOf, openMarket } from "../support/market.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

const refused = { code: "permission_denied", message: "You may not revoke it." };

describeInBrowser("forms and dialogs", () => {
  const here = surroundings({ SERVICE_OPEN_SIGNUP: "1", SERVICE_RATE_LIMITS: "off" }, "all");

  const heading = (page: Page, name: string): Promise<void> =>
    page.getByRole("heading", { level: 1, name, exact: true }).waitFor();

  /** What the page says of a field: its hint and its error. */
  async function saidOf(page: Page, label: string): Promise<string> {
    const ids = (await page.getByLabel(label, { exact: true }).getAttribute("aria-describedby")) ?? "";
    const texts = ids.split(" ").map((id) => page.locator(`[id="${id}"]`).allTextContents());
    return (await Promise.all(texts)).flat().join(" ");
  }

  it("violations of a refused call are at their fields, and the notice lists those that no field shows", async () => {
    const page = await here.at("me/security");
    await page.getByLabel("Current password", { exact: true }).fill(here.app.owner.password);
    await page.getByLabel("New password", { exact: true }).fill("password123");
    await page.getByRole("button", { name: "Change password" }).click();
    await expect.poll(() => saidOf(page, "New password")).toContain("is one of the most common passwords");
    const alert = page.getByRole("main").getByRole("alert").filter({ hasText: /\S/u });
    expect(await alert.textContent()).not.toContain("most common");
    await expect.poll(() => page.locator(":focus").getAttribute("name")).toBe("new_password");
    // The notice does not grow while the field is mended.
    await page.getByLabel("New password", { exact: true }).fill("password1234");
    expect(await saidOf(page, "New password")).not.toContain("most common");
    expect(await alert.textContent()).not.toContain("most common");

    await page.goto(`${here.url}/console/audit?actor=${"a".repeat(201)}`);
    await alert.getByRole("listitem").filter({ hasText: "Actor: must have at most 200 characters" }).waitFor();
  });

  it("what is wrong with an entry of a list is at the field, with the number of the entry", async () => {
    const page = await here.at("settings");
    await page.getByLabel("Jit domains", { exact: true }).fill("acme.test\nno_domain");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await expect.poll(() => saidOf(page, "Jit domains")).toContain("Entry 2: must be a mail domain");
    expect(await page.getByLabel("Jit domains", { exact: true }).getAttribute("aria-invalid")).toBe("true");
    await page.getByRole("main").getByText("Jit domains 2: must be a mail domain").waitFor();
  });

  it("a person who cannot be invited gets the reason in their line", async () => {
    const page = await here.at("invitations");
    await page.getByRole("button", { name: "Invite" }).click();
    const dialog = page.getByRole("dialog", { name: "Invite" });
    await dialog.getByLabel("Emails").fill(`${"a".repeat(65)}@example.com`);
    await dialog.getByRole("button", { name: "Invite" }).click();
    await dialog.getByText("Email: must be an email address", { exact: false }).waitFor();
  });

  it("a whole number is asked for where seats or days are not one, and no total is shown", async () => {
    const market = await openMarket(here.app);
    try {
      const { slug } = await market.offer(() => ({ status: 202 }));
      const page = await here.at(`apps/${slug}`);
      await page.getByRole("button", { name: "Install" }).click();
      const dialog = page.getByRole("dialog", { name: /^Install /u });
      await dialog.getByText(/^Total /u).waitFor();
      await dialog.getByLabel("Seats").fill("1.5");
      expect(await dialog.getByText(/^Total /u).count()).toBe(0);
      await dialog.getByRole("button", { name: "Install" }).click();
      await dialog.getByText("Enter a whole number.").waitFor();
      expect(await dialog.getByRole("alert").count()).toBe(0);
      await dialog.getByLabel("Seats").fill("2");
      await dialog.getByRole("button", { name: "Install" }).click();
      await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/console\/installs\/./u);
      expect(await page.getByRole("alertdialog").count()).toBe(0);
    } finally {
      await market.close();
    }
  });

  it("white space that is pasted around an address or a name is left out", async () => {
    const page = await here.at("webhooks");
    await page.getByRole("button", { name: "Create webhook" }).click();
    const webhook = page.getByRole("dialog", { name: "Create webhook" });
    await webhook.getByLabel("URL").fill(" https://receiver.test/pasted\t");
    await webhook.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("link", { name: "https://receiver.test/pasted" }).first().waitFor();

    await page.goto(`${here.url}/console/vault`);
    await page.getByRole("button", { name: "Create secret" }).click();
    const secret = page.getByRole("dialog", { name: "Create secret" });
    await secret.getByLabel("Name").fill(" database.pasted ");
    await secret.getByLabel("Value").fill(" kept ");
    await secret.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("link", { name: "database.pasted" }).click();
    await page.getByRole("button", { name: "Reveal" }).click();
    await expect.poll(() => page.getByRole("main").locator("pre", { hasText: "kept" }).textContent()).toBe(" kept ");
  });

  it("why a long form failed is in sight, and a role that was just created is not said to be missing", async () => {
    const page = await here.at("roles");
    await page.getByRole("table", { name: "Roles" }).waitFor();
    await page.getByRole("button", { name: "Create role" }).click();
    const dialog = page.getByRole("dialog", { name: "Create role" });
    await dialog.getByLabel("Name").fill("auditor");
    await dialog.getByRole("checkbox", { name: "user:read" }).check();
    await page.route(/CreateProductRole$/u, (route) => route.abort("connectionrefused"));
    const send = dialog.getByRole("button", { name: "Create", exact: true });
    await send.click();
    const alert = dialog.getByRole("alert").filter({ hasText: "The service did not answer." });
    await alert.waitFor();
    const bottom = async (): Promise<number> => {
      const box = await alert.boundingBox();
      return (box?.y ?? 0) + (box?.height ?? 0);
    };
    const top = (await send.boundingBox())?.y;
    await expect.poll(bottom).toBeLessThan(top ?? 0);
    await page.unroute(/CreateProductRole$/u);

    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/ListRoles$/u, async (route) => {
      await held;
      await route.continue().catch(() => undefined);
    });
    await send.click();
    await heading(page, "Role");
    await page.getByRole("main").getByText("Loading", { exact: true }).waitFor();
    expect(await page.getByText("This organization has no such role.").count()).toBe(0);
    release?.();
    await heading(page, "auditor");
  });

  it("a dialog does not show why the call failed for another thing", async () => {
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const keys = `/api/admin/organizations/${me.org_uuid as string}/api-keys`;
    for (const name of ["first", "second"])
      await here.app.call("POST", keys, { token, body: { name, scopes: ["read:users"] } });
    const page = await here.at("api-keys");
    await page.route(/Service\/RevokeApiKey/u, (route) =>
      route.fulfill({ status: 403, contentType: "application/json", body: JSON.stringify(refused) }),
    );
    const dialog = page.getByRole("alertdialog");
    await rowButton(page, "first", "Revoke").click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText(refused.message).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await rowButton(page, "second", "Revoke").click();
    await dialog.getByText("second").first().waitFor();
    expect(await dialog.getByText(refused.message).count()).toBe(0);
  });

  it("the reason for which an app is rejected is asked for anew", async () => {
    const token = await here.app.login();
    for (const slug of ["mars", "venus"]) {
      const body = { ...draftOf(slug, "http://127.0.0.1:9/provision"), name: slug };
      expect((await here.app.call("POST", "/api/marketplace/apps", { token, body })).status).toBe(201);
    }
    const page = await here.at("platform/approvals");
    await rowButton(page, "mars", "Reject").click();
    const reason = page.getByRole("dialog").getByLabel("Reason");
    await reason.fill("It has no description.");
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
    await page.getByText("App rejected").waitFor();
    await rowButton(page, "mars", "Reject").waitFor({ state: "detached" });
    await rowButton(page, "venus", "Reject").click();
    expect(await reason.inputValue()).toBe("");
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
    // Only what waits is in the queue, until another status is chosen.
    await page.getByText("Nothing waits for approval.").waitFor();
    await page.goto(`${here.url}/console/platform/approvals?status=rejected`);
    await page.getByRole("cell", { name: "venus" }).first().waitFor();
  });

  it("a page with input that would be lost is left after a question, and without one once it is saved", async () => {
    const token = await here.app.login();
    const draft = { name: "Letter", category: "email", body: "<p>Dear {{name}}</p>" };
    expect((await here.app.call("POST", "/api/templates", { token, body: draft })).status).toBe(201);
    const page = await here.at("templates");
    await page.getByRole("link", { name: "Letter", exact: true }).first().click();
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("Letter to members");
    const discard = page.getByRole("alertdialog", { name: "Discard changes?" });
    const main = page.getByRole("navigation", { name: "Main" });
    const stay = async (leave: () => Promise<unknown>): Promise<void> => {
      await leave();
      await discard.getByRole("button", { name: "Cancel" }).click();
      await discard.waitFor({ state: "detached" });
      expect(await name.inputValue()).toBe("Letter to members");
      await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/console\/templates\/./u);
    };
    await stay(() => main.getByRole("link", { name: "Members" }).click());
    await stay(() => page.evaluate("history.back()"));
    await stay(async () => {
      await page.getByRole("heading", { level: 1 }).click();
      await page.keyboard.press("g");
      await page.keyboard.press("m");
    });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Template saved").waitFor();
    await main.getByRole("link", { name: "Profile" }).click();
    await heading(page, "Profile");

    const first = page.getByLabel("First name", { exact: true });
    await first.fill("Ada Augusta");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    await main.getByRole("link", { name: "Security" }).click();
    await heading(page, "Security");

    await main.getByRole("link", { name: "Profile" }).click();
    await first.fill("");
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => saidOf(page, "First name")).toContain("must have at least 1 character");
    await main.getByRole("link", { name: "Members" }).click();
    await discard.getByRole("button", { name: "Discard" }).click();
    await heading(page, "Members");
    expect(await page.locator(":focus").textContent()).toBe("Members");
  });
});
