import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { codeAt, wrongCode } from "../mfa/support.ts";
import { testClock } from "../support/clock.ts";
import { runSql } from "../support/postgres.ts";
import { doors } from "./at-doors.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("a session that ended under an open page", () => {
  const clock = testClock();
  const here = surroundings({ SERVICE_OPEN_SIGNUP: "1", SERVICE_RATE_LIMITS: "off" }, "serve", undefined, clock);
  const { heading, founder, enter } = doors(here);

  const endSessions = () =>
    runSql(here.app.databaseUrl, "update sessions set revoked_at = now(), revoked_reason = 'test'");

  /** Lets a page find out that its session has ended. */
  async function askAgain(page: Page) {
    await endSessions();
    await page.evaluate('dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))');
    const asked = page.getByRole("dialog", { name: "Sign in again" });
    await asked.waitFor();
    return asked;
  }

  it("sign-out leaves the page: from the account menu, from the sign-in dialog, and after an idle hour", async () => {
    const page = await here.at("members");
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    await endSessions();
    await page.getByRole("button", { name: /^Account: / }).click();
    await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
    await heading(page, "Sign in");
    expect(await page.getByRole("dialog").count()).toBe(0);

    await page.clock.install();
    await here.signIn(page);
    await (await askAgain(page)).getByRole("button", { name: "Sign out" }).click();
    await heading(page, "Sign in");
    expect(await page.getByRole("dialog").count()).toBe(0);

    await here.signIn(page);
    await askAgain(page);
    let logouts = 0;
    page.on("request", (request) => (logouts += Number(/LoginService\/Logout$/u.test(request.url()))));
    await page.clock.fastForward(61 * 60_000);
    await heading(page, "Sign in");
    await page.getByText("You were signed out because nothing was done for a while.").waitFor();
    expect(logouts).toBe(1);
  });

  it("a sign-out waits 12 seconds for its answer, and says that the session may be open where none comes", async () => {
    const page = await here.at("members");
    const signOut = async (): Promise<void> => {
      await page.getByRole("button", { name: /^Account: / }).click();
      await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
    };
    await page.route(/LoginService\/Logout$/u, async (route) => {
      const response = await route.fetch();
      await new Promise((resolve) => setTimeout(resolve, 12_000));
      await route.fulfill({ response });
    });
    await signOut();
    await page.getByText("Signing out", { exact: true }).waitFor();
    await heading(page, "Sign in");
    expect((await page.getByRole("alert").allInnerTexts()).filter(Boolean)).toEqual([]);

    await page.unroute(/LoginService\/Logout$/u);
    await here.signIn(page);
    await page.route(/LoginService\/Logout$/u, (route) => route.abort("connectionreset"));
    await signOut();
    await heading(page, "Sign in");
    await page.getByRole("alert").getByText("your session may still be open", { exact: false }).waitFor();
  });

  it("a tab that was frozen while another was used ends no session when it is shown again", async () => {
    const used = await here.open(undefined, { storageState: await here.sessionOf(here.app.owner) });
    await used.context().addInitScript(`{
      const now = Date.now;
      let passed = 0;
      Date.now = () => now() + passed;
      window.pass = (minutes) => (passed += minutes * 60_000);
    }`);
    const frozen = await used.context().newPage();
    for (const page of [used, frozen]) {
      await page.goto(`${here.url}/console/me`);
      await heading(page, "Profile");
    }
    // It runs nothing until it is shown: messages of the other tab wait.
    const shown = frozen.evaluate(`{
      const end = performance.now() + 5_000;
      while (performance.now() < end);
      pass(75);
      document.dispatchEvent(new Event("visibilitychange"));
    }`);
    for (let nth = 0; nth < 3; nth++) {
      await used.evaluate("pass(25)");
      await used.keyboard.press("Shift");
    }
    await shown;
    await frozen.waitForTimeout(3_000);
    await heading(frozen, "Profile");
    await heading(used, "Profile");
    // Where nobody did anything, it ends all the same.
    for (const page of [used, frozen]) await page.evaluate("pass(61)");
    for (const page of [used, frozen]) await heading(page, "Sign in");
  });

  it("a sign-in in another tab goes on with the call; Escape and a press beside the dialog do nothing", async () => {
    const { email, org, password } = here.app.owner;
    const page = await here.at("api-keys");
    await page.getByRole("button", { name: "Create API key" }).click();
    const dialog = page.getByRole("dialog", { name: "Create API key" });
    await dialog.getByLabel("Name").fill("survivor");
    await dialog.getByRole("checkbox", { name: "read:users" }).check();
    await endSessions();
    await dialog.getByRole("button", { name: "Create" }).click();
    const asked = page.getByRole("dialog", { name: "Sign in again" });
    await asked.waitFor();
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    await page.keyboard.press("Escape");
    const link = asked.getByRole("link", { name: "sign in in another tab" });
    const [tab] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
    expect(await page.getByRole("alertdialog").count()).toBe(0);
    await heading(tab, "Sign in");
    expect(await tab.getByLabel("Organization").inputValue()).toBe(org);
    expect(await tab.getByLabel("Email", { exact: true }).inputValue()).toBe(email);
    await tab.getByLabel("Password", { exact: true }).fill(password);
    await tab.getByRole("button", { name: "Sign in" }).click();
    await heading(tab, "Overview");
    await page.getByRole("alertdialog", { name: "Save this API key" }).waitFor();
    expect(await asked.count()).toBe(0);
  });

  it("Cancel stops the end of all other sessions after the present one", async () => {
    const who = await founder();
    for (let nth = 0; nth < 3; nth++) await here.app.login(who.email, who.password, who.org);
    const page = await enter(who);
    await heading(page, "Overview");
    await page.goto(`${here.url}/console/me/sessions`);
    let asked = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/SessionsService\/RevokeDeviceSession/u, async (route) => {
      asked++;
      await held;
      await route.continue();
    });
    await page.getByRole("button", { name: "Sign out everywhere else" }).click();
    const dialog = page.getByRole("alertdialog", { name: "Sign out everywhere else?" });
    await dialog.getByRole("button", { name: "Sign out everywhere else" }).click();
    await expect.poll(() => asked).toBe(1);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    release();
    await page.getByText("1 session ended").waitFor();
    expect(asked).toBe(1);
  });

  it("a sign-in that is refused names both reasons, a wrong password and an organization that was left", async () => {
    const who = await founder();
    const page = await enter(who);
    await heading(page, "Overview");
    await runSql(
      here.app.databaseUrl,
      "update memberships set status = 'inactive' where user_uuid = (select uuid from people where email_key = $1)",
      [who.email],
    );
    const asked = await askAgain(page);
    await asked.getByLabel("Password", { exact: true }).fill(who.password);
    await asked.getByRole("button", { name: "Sign in" }).click();
    await asked
      .getByRole("alert")
      .filter({ hasText: `you no longer belong to ${who.org}` })
      .waitFor();
  });

  it("a second factor that is not taken says what to do, and the sign-in starts over", async () => {
    const who = await founder();
    const page = await enter(who);
    await heading(page, "Overview");
    const token = await here.app.login(who.email, who.password, who.org);
    const path = "/api/v1/me/mfa/factors";
    const { body } = await here.app.call("POST", path, { token, body: { factor_type: "totp" } });
    const { id, secret } = body.data as { id: number; secret: string };
    const code = codeAt(secret, clock.now());
    expect((await here.app.call("POST", `${path}/${id}/verify`, { token, body: { code } })).status).toBe(200);
    clock.advance(30_000);

    const asked = await askAgain(page);
    const answer = async (field: string, value: string): Promise<void> => {
      await asked.getByLabel(field, { exact: true }).fill(value);
      await asked.getByRole("button", { name: "Sign in" }).click();
    };
    await answer("Password", who.password);
    await answer("Authenticator code", wrongCode(secret, clock.now()));
    await asked.getByRole("alert").filter({ hasText: "After five wrong codes, start over." }).waitFor();
    await asked.getByRole("button", { name: "Start over" }).click();
    expect(await asked.getByRole("alert").filter({ hasText: /\S/u }).count()).toBe(0);
    await answer("Password", who.password);
    await answer("Authenticator code", codeAt(secret, clock.now()));
    await asked.waitFor({ state: "detached" });
    await heading(page, "Overview");
  });
});
