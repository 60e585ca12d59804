import { expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { founder } from "../support/people.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

const env = {
  SERVICE_MAGIC_LINK_DEV_ECHO: "1",
  SERVICE_RATE_LIMITS: "off",
  SERVICE_CORS_ORIGINS: "https://app.example.com",
};

describeInBrowser("where a mailed link leads after the sign-in", () => {
  const here = surroundings(env);

  /** Sends a link that names a page, opens it and presses the button. */
  async function follow(redirectTo: string, email = "lands@mail.test") {
    const body = { email, redirect_to: redirectTo };
    const sent = await here.app.call("POST", "/api/auth/magic-link/send", { body });
    expect(sent.status).toBe(200);
    const page = await here.open("/sign-in");
    await page.goto(`${here.url}/magic-link#token=${sent.body.dev_token as string}`);
    await page.getByRole("button", { name: "Sign in" }).click();
    return page;
  }

  it.each([
    ["the public URL", "http://atrium.test/welcome", "atrium.test"],
    ["an origin that browsers may call from", "https://app.example.com/home?x=1", "app.example.com"],
  ])("a link leads on to a page of %s when a person follows its host", async (_what, goal, host) => {
    const page = await follow(goal);
    await page.getByRole("heading", { level: 1, name: "You are signed in" }).waitFor();
    const link = page.getByRole("link", { name: `Continue to ${host}` });
    expect([await link.getAttribute("href"), await link.getAttribute("rel")]).toEqual([goal, "noreferrer"]);
    await page.getByRole("link", { name: "Go to the console" }).click();
    await page.getByText("lands@mail.test").first().waitFor();
  });

  it.each([
    "https://evil.example/x",
    "https://app.example.com.evil.example/",
    "http://app.example.com/",
    "https://app.example.com:8443/",
    "http://127.0.0.1:1/",
  ])("a link does not lead on to %s, whose host the page shows", async (goal) => {
    const page = await follow(goal);
    await page.getByText(`The link names ${new URL(goal).host}, which this service does not know.`).waitFor();
    expect(await page.locator(`a[href^="${new URL(goal).origin}"]`).count()).toBe(0);
  });

  it("a page of the console opens at once", async () => {
    const page = await follow(`${here.url}/console/me`);
    await page.getByRole("heading", { level: 1, name: "Profile" }).waitFor();
  });

  it("the query of the sign-in page leads nowhere else", async () => {
    const page = await here.open("/sign-in?next=https%3A%2F%2Fapp.example.com%2F");
    await here.signIn(page);
    expect(new URL(page.url()).origin).toBe(here.url);
  });

  it("a link leads on after the second factor as well", async () => {
    const { token, email } = await founder(here.app);
    const path = "/api/v1/me/mfa/factors";
    const { body } = await here.app.call("POST", path, { token, body: { factor_type: "totp" } });
    const { id, secret } = body.data as { id: number; secret: string };
    const code = (steps = 0): string => codeAt(secret, Date.now(), steps);
    const proof = { token, body: { code: code() } };
    expect((await here.app.call("POST", `${path}/${id}/verify`, proof)).status).toBe(200);
    const page = await follow("https://app.example.com/", email);
    await page.getByLabel("Authenticator code").fill(code(1));
    await page.getByRole("link", { name: "Continue to app.example.com" }).waitFor();
  });
});
