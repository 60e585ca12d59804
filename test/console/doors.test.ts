import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("the doors", () => {
  const here = surroundings();

  /** The link in the newest mail to an address. */
  async function mailed(email: string): Promise<URL> {
    const { text } = await here.app.mailTo(email);
    const link = new URL(/http:\/\/atrium\.test\/\S+/u.exec(text)?.[0] ?? "");
    return new URL(link.pathname + link.hash, here.url);
  }

  const overview = (page: Page) => page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

  it("the start page links to sign-in, and a program gets links as JSON", async () => {
    const page = await here.open("/");
    await page.getByRole("heading", { level: 1, name: "Atrium" }).waitFor();
    for (const [name, path] of [
      ["API reference", "docs/api"],
      ["Guides", "docs"],
      ["Mailbox", "dev/mailbox"],
    ] as const)
      expect(await page.getByRole("link", { name, exact: true }).getAttribute("href")).toBe(path);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    expect((await here.app.call("GET", "/")).body).toHaveProperty("links.console");
  });

  it("a wrong password and an unknown email get the same words, with a button for the request id", async () => {
    const page = await here.open("/sign-in");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const alert = page.getByRole("alert").filter({ hasText: /\S/u });
    const copy = page.getByRole("button", { name: "Copy request id" });
    const words: string[] = [];
    const ids: string[] = [];
    for (const email of [here.app.owner.email, "nobody@mail.test"]) {
      await page.getByLabel("Organization").fill(here.app.owner.org);
      await page.getByLabel("Email", { exact: true }).fill(email);
      await page.getByLabel("Password", { exact: true }).fill("a wrong password");
      const answered = page.waitForResponse(/LoginService\/Login$/u);
      await page.getByRole("button", { name: "Sign in" }).click();
      ids.push((await (await answered).headerValue("x-request-id")) ?? "");
      await expect.poll(() => page.locator(":focus").getAttribute("name")).toBe("password");
      words.push((await alert.textContent()) ?? "");
      expect(await alert.getByRole("button").count()).toBe(0);
      await copy.click();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(ids.at(-1));
    }
    expect(words[0]).toBe("Organization, email and password do not match. Check them and try again.");
    expect(words[1]).toBe(words[0]);
    expect(new Set(ids).size).toBe(2);
  });

  it("a magic link leaves no token in the address, is not spent by loading, and signs in once", async () => {
    const page = await here.open("/sign-in");
    await page.getByLabel("Organization").fill("Acme");
    await page.getByLabel("Email", { exact: true }).fill("linked@mail.test");
    await page.getByRole("button", { name: "Email me a link" }).click();
    await page.getByRole("status").filter({ hasText: "on its way" }).waitFor();
    const link = await mailed("linked@mail.test");
    expect(link.hash).toMatch(/^#token=/u);
    for (let load = 0; load < 2; load++) {
      const scanner = await here.open(link.pathname + link.hash);
      await scanner.getByRole("button", { name: "Sign in" }).waitFor();
      expect(scanner.url()).toBe(`${here.url}/magic-link`);
    }
    const first = await here.open(link.pathname + link.hash);
    await first.getByRole("button", { name: "Sign in" }).click();
    await overview(first);
    const second = await here.open(link.pathname + link.hash);
    await second.getByRole("button", { name: "Sign in" }).click();
    const spent = second.getByRole("alert").filter({ hasText: "used before" });
    await spent.waitFor();

    // A newer link in the same tab is the same page, which starts anew with its token.
    await page.getByRole("button", { name: "Email me a link" }).click();
    let newer = link;
    await expect.poll(async () => (newer = await mailed("linked@mail.test")).hash).not.toBe(link.hash);
    await second.goto(newer.href);
    await spent.waitFor({ state: "detached" });
    await expect.poll(() => second.url()).toBe(`${here.url}/magic-link`);
    await second.getByRole("button", { name: "Sign in" }).click();
    await overview(second);
  });

  it("a mailed link leads on to this machine in development, and to nothing that only looks like it", async () => {
    for (const [goal, leads] of [
      ["http://localhost:3000/x", true],
      ["http://127.0.0.1:1/", true],
      ["http://[::1]:1/", true],
      ["http://127.0.0.1.evil.example/", false],
      ["http://localhost.evil.example/", false],
    ] as const) {
      const { host } = new URL(goal);
      const email = `${host.replaceAll(/\W+/gu, "-")}@mail.test`;
      const body = { email, redirect_to: goal };
      expect((await here.app.call("POST", "/api/auth/magic-link/send", { body })).status).toBe(200);
      const link = await mailed(email);
      const page = await here.open(link.pathname + link.hash);
      await page.getByRole("button", { name: "Sign in" }).click();
      if (leads) await page.getByRole("link", { name: `Continue to ${host}` }).waitFor();
      else await page.getByText(`The link names ${host}, which this service does not know.`).waitFor();
    }
  });

  it("a step-up link is not taken for done by the acknowledgement of another", async () => {
    const page = await here.open("/step-up#token=abc&challenge_id=one");
    const other = await page.context().newPage();
    await other.goto(here.url);
    await other.evaluate(`{
      const channel = new BroadcastChannel("atrium-step-up");
      channel.onmessage = () => channel.postMessage({ taken: "two" });
    }`);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("No tab of this browser waits for it.", { exact: false }).waitFor();
  });

  it("a mailed code of six pasted digits signs in", async () => {
    const page = await here.open("/sign-in");
    await page.getByLabel("Organization").fill("Acme");
    await page.getByLabel("Email", { exact: true }).fill("coded@mail.test");
    await page.getByRole("button", { name: "Email me a code" }).click();
    await page.getByRole("heading", { level: 1, name: "Enter the code" }).waitFor();
    await page.getByRole("button", { name: /^Send again in 0:\d\d$/u }).waitFor();
    // It has the focus: what is pasted goes there.
    await expect.poll(() => page.locator(":focus").getAttribute("autocomplete")).toBe("one-time-code");
    const { text } = await here.app.mailTo("coded@mail.test");
    const code = /^\s*(\d{3} ?\d{3})\s*$/mu.exec(text)?.[1] ?? "";
    await page.getByLabel("Code", { exact: true }).fill(code);
    await overview(page);
  });

  it("a password and a code stay where nobody judged them, and a code that was not sent can be asked for", async () => {
    const page = await here.open("/sign-in");
    const busy = { code: "unavailable", message: "The service is busy." };
    await page.route(/Service\/(?:Login|VerifyOtp|SendOtp)$/u, (route) => route.fulfill({ status: 503, json: busy }));
    await page.getByLabel("Organization").fill("Acme");
    await page.getByLabel("Email", { exact: true }).fill("patient@mail.test");
    const password = page.getByLabel("Password", { exact: true });
    await password.fill("correct horse battery");
    await page.getByRole("button", { name: "Sign in" }).click();
    const alert = page.getByRole("alert").filter({ hasText: "The service did not answer" });
    await alert.waitFor();
    expect(await password.inputValue()).toBe("correct horse battery");

    await page.goto(`${here.url}/sign-in/code?email=patient%40mail.test`);
    const code = page.getByLabel("Code", { exact: true });
    await page.clock.install();
    await page.reload();
    await page.clock.fastForward(31_000);
    await page.getByRole("button", { name: "Send again" }).click();
    await alert.waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Send again", exact: true }).isEnabled()).toBe(true);
    await code.fill("123456");
    await expect.poll(() => alert.count()).toBe(2);
    expect(await code.inputValue()).toBe("123456");
    await page.unroute(/Service\/(?:Login|VerifyOtp|SendOtp)$/u);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The code is wrong or has expired.", { exact: false }).waitFor();
    expect(await code.inputValue()).toBe("");
  });

  it("a new person accepts an invitation and lands on the overview", async () => {
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const path = `/api/admin/organizations/${me.org_uuid}/invitations`;
    await here.app.call("POST", path, { token, body: { email: "guest@mail.test", role_id: 3 } });
    const link = await mailed("guest@mail.test");
    const page = await here.open(link.pathname + link.hash);
    await page.getByRole("heading", { level: 1, name: "Join Acme" }).waitFor();
    await page.getByLabel("First name").fill("Ada");
    await page.getByLabel("Last name").fill("Guest");
    await page.getByLabel("Username").fill("ada-guest");
    await page.getByLabel("Password", { exact: true }).fill("a long enough phrase");
    await page.getByLabel("Phone (optional)").fill("+4915112345678");
    await page.getByRole("button", { name: "Accept" }).click();
    await overview(page);
  });

  it("a path in next that leads to another host ends at the console", async () => {
    const page = await here.open("/sign-in?next=//evil.test");
    await here.signIn(page);
    expect(page.url()).toBe(`${here.url}/console`);
  });

  it("tokens are in no storage of the browser", async () => {
    const page = await here.open("/sign-in");
    await here.signIn(page);
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])");
    expect(kept).not.toMatch(/eyJ|token/iu);
  });
});
