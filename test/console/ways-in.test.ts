import { afterAll, beforeAll, expect, it } from "vitest";
import { startHostileProvider } from "../oidc/hostile-provider.ts";
import type { HostileProvider } from "../oidc/hostile-provider.ts";
import { testClock } from "../support/clock.ts";
import { runSql } from "../support/postgres.ts";
import { doors, PASSWORD, publicUrl, sendBack } from "./at-doors.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

const env = { ...(await publicUrl()), SERVICE_OPEN_SIGNUP: "1", SERVICE_RATE_LIMITS: "off" };

describeInBrowser("ways in", () => {
  const clock = testClock();
  const here = surroundings(env, "all", undefined, clock);
  let provider: HostileProvider;

  beforeAll(async () => {
    provider = await startHostileProvider(() => clock.now());
    here.friends.add(new URL(provider.issuer).host);
    sendBack(provider);
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const { status } = await here.app.call("POST", `/api/admin/organizations/${me.org_uuid}/oidc-connections`, {
      token,
      body: {
        name: "Corporate",
        provider: "test",
        client_id: "atrium-client",
        client_secret: "a-client-secret",
        discovery_url: provider.discoveryUrl,
        allowed_domains: ["corp.test", "acme.test"],
        redirect_uris: [here.url],
      },
    });
    expect(status).toBe(201);
  });
  afterAll(() => provider.close());

  const { heading, mailed, founder, answerDoor, enter } = doors(here);

  it("the button of a connection signs in by its provider and goes where the person wanted to go", async () => {
    provider.subject = { sub: "ada", email: "ada@corp.test", email_verified: true };
    const page = await here.open("/sign-in?org=Acme&next=/console/me");
    await page.getByRole("button", { name: "Continue with Corporate" }).click();
    await heading(page, "Profile");
    expect(page.url()).toBe(`${here.url}/console/me`);
    expect(await page.evaluate("sessionStorage.getItem('atrium.oidc')")).toBe(null);
    await page.getByRole("button", { name: "Account: ada@corp.test" }).waitFor();
  });

  it("a renewal under way when a browser comes back from a provider does not end in the former session", async () => {
    const before = await founder();
    provider.subject = { sub: "grace", email: "grace@corp.test", email_verified: true };
    const page = await here.open("/sign-in?org=Acme");
    // Signed in meanwhile, by a tab that is closed again.
    await page.route(/\/authorize\?/u, async (route) => {
      await page.context().addCookies((await here.sessionOf(before)).cookies);
      await route.continue();
    });
    // The answer to the renewal of the former session comes after that of the exchange, if the exchange does not wait.
    const exchanged = page.waitForResponse(/ExchangeSession/u);
    await page.route(/LoginService\/Refresh$/u, async (route) => {
      const response = await route.fetch();
      await Promise.race([exchanged, new Promise((resolve) => setTimeout(resolve, 1_000))]);
      await route.fulfill({ response });
    });
    await page.getByRole("button", { name: "Continue with Corporate" }).click();
    await page.getByRole("button", { name: "Account: grace@corp.test" }).waitFor();
    await page.unroute(/LoginService\/Refresh$/u);
    await page.reload();
    await page.getByRole("button", { name: "Account: grace@corp.test" }).waitFor();
  });

  it("the start page leads to the sign-up that is open, and a person without a session to sign-in", async () => {
    const page = await here.open("/");
    await page.getByRole("link", { name: "Create an organization" }).click();
    await heading(page, "Create an organization");
    await page.goto(`${here.url}/console/vault?q=mail`);
    await heading(page, "Sign in");
    expect(new URL(page.url()).searchParams.get("next")).toBe("/console/vault?q=mail");
  });

  it("a return that this tab did not start signs nobody in and shows none of its text", async () => {
    const page = await here.open("/?session_token=stolen&state=forged");
    await page.getByText("This sign-in was not started here.", { exact: false }).waitFor();
    expect(page.url()).toBe(`${here.url}/`);
    await page.goto(`${here.url}/?error=x&error_description=Call+this+number`);
    await page.getByText("The sign-in was refused.", { exact: false }).waitFor();
    expect(await page.getByText("Call this number").count()).toBe(0);
  });

  it("an identity that is not linked yet is linked by signing in another way, and signs in from then on", async () => {
    const { email, org, password } = here.app.owner;
    provider.subject = { sub: "owner", email, email_verified: true };
    const page = await here.open("/sign-in?org=Acme");
    await page.getByRole("button", { name: "Continue with Corporate" }).click();
    await page.getByRole("link", { name: "Sign in another way to link Corporate" }).click();
    await answerDoor(page, { email, org, password });
    await page.getByText("Corporate is linked to your account").waitFor();
    await heading(page, "Overview");
    const other = await here.open("/sign-in?org=Acme");
    await other.getByRole("button", { name: "Continue with Corporate" }).click();
    await heading(other, "Overview");
  });

  it("an identity is linked when the other way in is a mailed link, which opens another tab", async () => {
    const { email } = here.app.owner;
    await runSql(here.app.databaseUrl, "delete from oidc_identities where subject = 'owner'");
    provider.subject = { sub: "owner", email, email_verified: true };
    const page = await here.open("/sign-in?org=Acme");
    await page.getByRole("button", { name: "Continue with Corporate" }).click();
    await page.getByRole("link", { name: "Sign in another way to link Corporate" }).click();
    await page.getByLabel("Organization").fill("Acme");
    await page.getByLabel("Email", { exact: true }).fill(email);
    await page.getByRole("button", { name: "Email me a link" }).click();
    const tab = await page.context().newPage();
    await tab.goto(here.url + (await mailed(email, "/magic-link")));
    await tab.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Corporate is linked to your account").waitFor();
    await heading(page, "Overview");
  });

  it("a new organization is confirmed by mail, and a reset of the password ends its session", async () => {
    const who = { email: "grace@globex.test", org: "Globex", password: "a new long enough phrase" };
    const page = await here.open("/sign-up");
    await page.getByLabel("Name", { exact: true }).fill("Acme");
    await page.getByText("Acme is taken.").waitFor();
    expect(await page.getByRole("button", { name: "Create" }).isDisabled()).toBe(true);
    await page.getByLabel("Name", { exact: true }).fill(who.org);
    await page.getByText("Globex is free.").waitFor();
    await page.getByLabel("First name").fill("Grace");
    await page.getByLabel("Email", { exact: true }).fill(who.email);
    await page.getByLabel("Password", { exact: true }).fill("password123");
    await page.getByRole("button", { name: "Create" }).click();
    await expect.poll(() => page.locator(":focus").getAttribute("name")).toBe("password");
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Create" }).click();
    await heading(page, "Overview");
    const confirmation = await mailed(who.email, "/confirm-email");
    const door = await here.open(confirmation);
    await door.getByRole("button", { name: "Confirm" }).click();
    await door.getByText("Your address is confirmed.").waitFor();
    await door.goto(`${here.url}/sign-in`);
    await door.goto(here.url + confirmation);
    await door.getByRole("button", { name: "Confirm" }).click();
    await door.getByText("The link has expired or was used before.").waitFor();
    await door.getByRole("link", { name: "Go to sign-in" }).click();
    await door.getByRole("link", { name: "Forgot password?" }).click();
    await heading(door, "Reset your password");
    await door.getByLabel("Email", { exact: true }).fill(who.email);
    await door.getByRole("button", { name: "Send the link" }).click();
    // What is said in place of the form has the focus, so that it is read out.
    const focused = door.locator(":focus");
    await focused.getByText("a mail with a link is on its way", { exact: false }).waitFor();
    await door.goto(here.url + (await mailed(who.email, "/reset-password")));
    await door.getByLabel("Password", { exact: true }).fill(who.password);
    await door.getByRole("button", { name: "Set password" }).click();
    await focused.getByText("every session has ended", { exact: false }).waitFor();
    await page.reload();
    await heading(page, "Sign in");
    await answerDoor(page, who);
    await heading(page, "Overview");
  });

  it("who did not sign up removes their address, which ends the account", async () => {
    const who = await founder();
    const door = await here.open(await mailed(who.email, "/disown"));
    await heading(door, "I did not sign up");
    await door.getByRole("button", { name: "Remove my address" }).click();
    await door.getByText("The account has ended, and your address is free.").waitFor();
    const page = await enter(who);
    await page.getByRole("alert").filter({ hasText: "do not match" }).waitFor();
  });

  it("somebody who is signed in accepts an invitation as themselves and is then in its organization", async () => {
    const who = await founder();
    const page = await enter(who);
    await heading(page, "Overview");
    await page.getByRole("heading", { level: 2, name: "Finish setting up" }).waitFor();
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const path = `/api/admin/organizations/${me.org_uuid}/invitations`;
    const { status } = await here.app.call("POST", path, { token, body: { email: who.email, role_id: 3 } });
    expect(status).toBe(201);
    const link = await mailed(who.email, "/invite");
    await page.goto(here.url + link);
    await heading(page, "Join Acme");
    await page.getByRole("button", { name: `Accept as ${who.email}` }).click();
    await page.getByRole("button", { name: "Organization: Acme" }).waitFor();
    // A link into the other organization asks before it switches.
    const own = await here.app.login(who.email, who.password, who.org);
    const { body: there } = await here.app.call("GET", "/api/auth/me", { token: own });
    await page.goto(`${here.url}/console/members?org=${there.org_uuid}`);
    const dialog = page.getByRole("dialog", { name: `Switch to ${who.org}?` });
    await dialog.getByRole("button", { name: "Switch", exact: true }).click();
    await page.getByRole("button", { name: `Organization: ${who.org}` }).waitFor();
    await page.getByRole("cell", { name: who.email, exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe("");
    const late = await here.open(link);
    await late.getByRole("alert").filter({ hasText: "invitation_expired" }).waitFor();
    expect(await late.getByRole("button", { name: "Try again" }).count()).toBe(0);
  });
});
