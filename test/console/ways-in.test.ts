import { randomBytes } from "node:crypto";
import jsqr from "jsqr";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { startHostileProvider } from "../oidc/hostile-provider.ts";
import type { HostileProvider } from "../oidc/hostile-provider.ts";
import { testClock } from "../support/clock.ts";
import { freePort } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

// Providers send browsers back to the public URL, so it has to be that of the test.
const port = await freePort();
const env = {
  PORT: String(port),
  SERVICE_BASE_URL: `http://127.0.0.1:${port}`,
  SERVICE_OPEN_SIGNUP: "1",
  SERVICE_RATE_LIMITS: "off",
};
const PASSWORD = "correct horse battery";

/** Somebody who signs in by password. */
interface Person {
  email: string;
  org: string;
  password: string;
}

describeInBrowser("ways in", () => {
  const clock = testClock();
  const here = surroundings(env, "all", undefined, clock);
  let provider: HostileProvider;

  beforeAll(async () => {
    provider = await startHostileProvider(() => clock.now());
    here.friends.add(new URL(provider.issuer).host);
    provider.answers.set("/authorize", (request, response) => {
      const { code, params } = provider.authorize(`${provider.issuer}${request.url ?? ""}`);
      const query = new URLSearchParams({ code, state: params.get("state") ?? "" });
      response.writeHead(302, { location: `${params.get("redirect_uri")}?${query.toString()}` }).end();
    });
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

  const heading = (page: Page, name: string): Promise<void> =>
    page.getByRole("heading", { level: 1, name, exact: true }).waitFor();

  /** The link to a path in the newest mail to an address, as soon as there is one. */
  async function mailed(email: string, path: string): Promise<string> {
    let link: string | undefined;
    await expect
      .poll(async () => {
        const { text } = await here.app.mailTo(email);
        link = new RegExp(String.raw`http://127\.0\.0\.1:\d+(${path}#\S+)`, "u").exec(text)?.[1];
        return link;
      })
      .toBeDefined();
    return link ?? "";
  }

  /** The owner of an organization of their own. */
  async function founder(): Promise<Person> {
    const name = randomBytes(4).toString("hex");
    const who = { email: `${name}@people.test`, org: `Org ${name}`, password: PASSWORD };
    const { status } = await here.app.call("POST", "/api/organizations", {
      body: { name: who.org, email: who.email, password: PASSWORD, first_name: "Ada" },
    });
    expect(status).toBe(201);
    return who;
  }

  /** Sends the form of the sign-in page. */
  async function answerDoor(page: Page, { email, org, password }: Person): Promise<void> {
    await page.getByLabel("Organization").fill(org);
    await page.getByLabel("Email", { exact: true }).fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  async function enter(who: Person): Promise<Page> {
    const page = await here.open("/sign-in");
    await answerDoor(page, who);
    return page;
  }

  it("the button of a connection signs in by its provider and goes where the person wanted to go", async () => {
    provider.subject = { sub: "ada", email: "ada@corp.test", email_verified: true };
    const page = await here.open("/sign-in?org=Acme&next=/console/me");
    await page.getByRole("button", { name: "Continue with Corporate" }).click();
    await heading(page, "Profile");
    expect(page.url()).toBe(`${here.url}/console/me`);
    expect(await page.evaluate("sessionStorage.getItem('atrium.oidc')")).toBe(null);
    await page.getByRole("button", { name: "Account: ada@corp.test" }).waitFor();
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
    const door = await here.open(await mailed(who.email, "/confirm-email"));
    await door.getByRole("button", { name: "Confirm" }).click();
    await door.getByText("Your address is confirmed.").waitFor();
    await door.goto(`${here.url}/sign-in`);
    await door.getByRole("link", { name: "Forgot password?" }).click();
    await heading(door, "Reset your password");
    await door.getByLabel("Email", { exact: true }).fill(who.email);
    await door.getByRole("button", { name: "Send the link" }).click();
    await door.getByText("a mail with a link is on its way", { exact: false }).waitFor();
    await door.goto(here.url + (await mailed(who.email, "/reset-password")));
    await door.getByLabel("Password", { exact: true }).fill(who.password);
    await door.getByRole("button", { name: "Set password" }).click();
    await door.getByText("every session has ended", { exact: false }).waitFor();
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

  /** The text of the QR code as the screen shows it. */
  async function scan(page: Page, image: Locator): Promise<string | undefined> {
    const source = `data:image/png;base64,${(await image.screenshot()).toString("base64")}`;
    const { data, width, height } = await page.evaluate<{ data: number[]; width: number; height: number }>(
      `(async () => {
        const image = Object.assign(new Image(), { src: ${JSON.stringify(source)} });
        await image.decode();
        const { naturalWidth: width, naturalHeight: height } = image;
        const drawing = new OffscreenCanvas(width, height).getContext("2d");
        drawing.drawImage(image, 0, 0);
        return { data: [...drawing.getImageData(0, 0, width, height).data], width, height };
      })()`,
    );
    return jsqr.default(Uint8ClampedArray.from(data), width, height)?.data;
  }

  it("an authenticator is added by its QR code; the next sign-in asks for it or a recovery code, once", async () => {
    const who = await founder();
    const page = await enter(who);
    await heading(page, "Overview");
    await page.goto(`${here.url}/console/me/security`);
    const dialog = page.getByRole("dialog", { name: "Add authenticator" });
    await page.getByRole("button", { name: "Add authenticator" }).click();
    await page.getByText("Pending", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("You have no second factor.", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Add authenticator" }).click();
    const secret = await dialog.getByRole("textbox", { name: "Secret key" }).inputValue();
    const scanned = new URL((await scan(page, dialog.getByRole("img", { name: "QR code" }))) ?? "");
    expect(scanned.protocol).toBe("otpauth:");
    expect(scanned.searchParams.get("secret")).toBe(secret);
    await dialog.getByLabel("Code", { exact: true }).fill(codeAt(secret, clock.now()));
    await dialog.getByRole("button", { name: "Activate" }).click();
    const saved = page.getByRole("alertdialog", { name: "Save this set of recovery codes" });
    await saved.getByRole("button", { name: "Show" }).click();
    const codes = ((await saved.locator("pre").textContent()) ?? "").split("\n");
    expect(new Set(codes).size).toBe(10);
    await saved.getByRole("button", { name: "I have saved it" }).click();
    await page.getByText("10 codes left.").waitFor();
    const document = await page.content();
    for (const shown of [secret, ...codes]) expect(document).not.toContain(shown);

    await page.getByRole("button", { name: "New recovery codes" }).waitFor();
    await page.getByRole("button", { name: /^Remove / }).click();
    const removal = page.getByRole("alertdialog", { name: /^Remove .*\?$/u });
    await removal.getByText("Your password alone will be enough", { exact: false }).waitFor();
    await removal.getByRole("button", { name: "Cancel" }).click();
    await page.goto(`${here.url}/console/members`);
    await page.getByRole("link", { name: who.email }).click();
    await page.getByRole("button", { name: "Remove second factor" }).click();
    await page.getByRole("alertdialog", { name: /^Remove the second factor of / }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();

    const byRecovery = async (): Promise<Page> => {
      const door = await enter(who);
      await heading(door, "Second factor");
      await door.getByRole("button", { name: "Use a recovery code" }).click();
      await door.getByLabel("Recovery code").fill(codes[0] ?? "");
      await door.getByRole("button", { name: "Continue" }).click();
      return door;
    };
    await heading(await byRecovery(), "Overview");
    const refused = await byRecovery();
    await refused.getByRole("alert").filter({ hasText: "was used before" }).waitFor();
    await refused.getByRole("button", { name: "Use the authenticator" }).click();
    clock.advance(30_000);
    // Six digits are sent as soon as they are there.
    await refused.getByLabel("Authenticator code").fill(codeAt(secret, clock.now()));
    await heading(refused, "Overview");
  });

  it("the picture and the password are changed on the own pages, and other sessions end", async () => {
    const who = await founder();
    const page = await enter(who);
    await heading(page, "Overview");
    await page.goto(`${here.url}/console/me`);
    const picture = page.getByRole("img", { name: "Your picture" });
    await picture.waitFor();
    const before = await picture.getAttribute("src");
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Upload picture" }).click();
    const buffer = await page.screenshot({ clip: { x: 0, y: 0, width: 96, height: 96 } });
    await (await chooser).setFiles({ name: "me.png", mimeType: "image/png", buffer });
    await page.getByText("Picture saved").waitFor();
    await expect.poll(() => picture.getAttribute("src")).not.toBe(before);
    const width = "document.querySelector('img[alt=\"Your picture\"]').naturalWidth";
    await expect.poll(() => page.evaluate<number>(width)).toBeGreaterThan(0);

    const token = await here.app.login(who.email, who.password, who.org);
    await page.goto(`${here.url}/console/me/security`);
    await page.getByLabel("Current password", { exact: true }).fill(who.password);
    await page.getByLabel("New password", { exact: true }).fill("another long enough phrase");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Password changed.", { exact: false }).waitFor();
    expect((await here.app.call("GET", "/api/auth/me", { token })).status).toBe(401);
    await page.reload();
    await heading(page, "Security");
  });

  it("a step-up by mail goes on in the tab that waits; another browser shows the token to be copied", async () => {
    const page = await here.open("/sign-in");
    await here.signIn(page);
    await page.goto(`${here.url}/console/keys`);
    await page.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Rotate" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it is you" });
    await asked.getByRole("radio", { name: "Email link" }).check();
    await asked.getByRole("button", { name: "Send the link" }).click();
    const link = await mailed(here.app.owner.email, "/step-up");
    const elsewhere = await here.open(link);
    await elsewhere.getByRole("button", { name: "Confirm" }).click();
    const token = new URLSearchParams(link.split("#")[1]).get("token") ?? "";
    await elsewhere.getByText(token, { exact: true }).waitFor();
    const door = await page.context().newPage();
    await door.goto(here.url + link);
    await heading(door, "Confirm that it is you");
    expect(door.url()).toBe(`${here.url}/step-up`);
    await door.getByRole("button", { name: "Confirm" }).click();
    await asked.waitFor({ state: "detached" });
    await page.getByText(/^Elevated, \d+:\d\d left$/u).waitFor();
  });
});
