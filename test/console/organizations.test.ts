import { expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings, visit } from "./browser.ts";

const refused = { code: "permission_denied", message: "You may not enter it now." };

describeInBrowser("somebody of two organizations", () => {
  const here = surroundings({ SERVICE_OPEN_SIGNUP: "1", SERVICE_RATE_LIMITS: "off" }, "serve");

  it("a switch shows the other organization's data, one that fails changes nothing, and input is kept", async () => {
    const token = await here.app.login();
    const made = await here.app.call("POST", "/api/organizations", { token, body: { name: "Second" } });
    expect(made.status).toBe(201);
    for (const [bearer, budget] of [
      [token, 111],
      [made.body.access_token as string, 222],
    ] as const) {
      const body = { provider: "openai", budget_usd: budget };
      const { status } = await here.app.call("PUT", "/api/ops/ai-gateway-config", { token: bearer, body });
      expect(status).toBe(200);
    }
    const page = await here.at("ai");
    const budget = page.getByLabel("Budget USD");
    const shown = (value: string) => expect.poll(() => budget.inputValue()).toBe(value);
    const isIn = (name: string) => page.getByRole("button", { name: `Organization: ${name}` }).waitFor();
    const refuse = () =>
      page.route(/Service\/SwitchOrganization/u, (route) =>
        route.fulfill({ status: 403, contentType: "application/json", body: JSON.stringify(refused) }),
      );
    await shown("111");

    // By a link.
    await refuse();
    await visit(page, `ai?org=${made.body.org_uuid as string}`);
    const dialog = page.getByRole("dialog", { name: "Switch to Second?" });
    await dialog.getByRole("button", { name: "Switch", exact: true }).click();
    await dialog.getByRole("alert").filter({ hasText: refused.message }).waitFor();
    await page.unroute(/Service\/SwitchOrganization/u);
    await dialog.getByRole("button", { name: "Switch", exact: true }).click();
    await isIn("Second");
    await shown("222");
    expect(new URL(page.url()).search).toBe("");

    // By the menu.
    const choose = async (): Promise<void> => {
      await page.getByRole("button", { name: "Organization: Second" }).click();
      await page.getByRole("menuitem", { name: "Acme" }).click();
    };
    await refuse();
    await choose();
    await page.getByRole("alert").filter({ hasText: refused.message }).waitFor();
    await isIn("Second");
    expect(new URL(page.url()).pathname).toBe("/console/ai");
    await page.unroute(/Service\/SwitchOrganization/u);
    await budget.fill("333");
    await choose();
    const discard = page.getByRole("alertdialog", { name: "Discard changes?" });
    await discard.getByRole("button", { name: "Cancel" }).click();
    await isIn("Second");
    await shown("333");
    await choose();
    await discard.getByRole("button", { name: "Discard" }).click();
    await isIn("Acme");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });

  it("somebody without an organization is in the one they created when the first reading of them fails", async () => {
    const { email, password } = here.app.owner;
    await runSql(
      here.app.databaseUrl,
      "update memberships set status = 'removed' where user_uuid = (select uuid from people where email_key = $1)",
      [email],
    );
    const page = await here.open("/sign-in");
    await page.getByLabel("Email", { exact: true }).fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Create an organization" }).click();
    const dialog = page.getByRole("dialog", { name: "Create an organization" });
    await dialog.getByLabel("Name").fill("Third");
    let failed = 0;
    await page.route(/AccessService\/GetMe/u, (route) =>
      ++failed === 1
        ? route.fulfill({ status: 403, contentType: "application/json", body: JSON.stringify(refused) })
        : route.continue(),
    );
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").filter({ hasText: refused.message }).waitFor();
    await page.getByRole("button", { name: "Organization: Third" }).waitFor();
    expect(await dialog.count()).toBe(0);
  });
});
