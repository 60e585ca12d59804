import { fromBinary } from "@bufbuild/protobuf";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import type { Atrium, Elevation } from "../../src/clients/typescript/index.ts";
import { signedIn } from "../clients/support.ts";
import type { TestApp } from "../support/app.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

/** Ends every session of the owner, by another client. */
async function endSessions(app: TestApp): Promise<void> {
  const { atrium } = await signedIn(app, {}, { onStepUp: () => proof(atrium.stepUp, app.owner.password) });
  const { orgUuid = "" } = await atrium.access.getMe({});
  await atrium.sessions.revokeAllOrganizationSessions({ orgUuid, excludeCurrent: true });
}

async function proof(stepUp: Atrium["stepUp"], password: string): Promise<Elevation> {
  const { challengeId } = await stepUp.createChallenge({ method: "password" });
  return stepUp.verifyChallenge({ challengeId, password });
}

describeInBrowser("a session in the console", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  const status = (page: Page, method: string, path: string): Promise<number> =>
    page.evaluate<number>(`fetch(${JSON.stringify(path)}, { method: "${method}" }).then(({ status }) => status)`);

  it("the session is in a cookie that scripts cannot read, and in no storage; alone it opens nothing", async () => {
    const page = await here.open("/sign-in");
    const answered = page.waitForResponse(/LoginService\/Login$/u);
    await here.signIn(page);
    const tokens = fromBinary(LoginService.method.login.output, await (await answered).body());
    expect(tokens.accessToken).toMatch(/^eyJ/u);
    expect(tokens.refreshToken ?? "").toBe("");
    const [cookie, ...others] = await page.context().cookies();
    expect(others).toEqual([]);
    expect(cookie?.name).toMatch(/^__Host-atrium-[0-9a-f]{8}$/u);
    expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict", path: "/", expires: -1 });
    const kept = await page.evaluate<string>(
      `indexedDB.databases().then((databases) => JSON.stringify(
        [{ ...localStorage }, { ...sessionStorage }, document.cookie, databases, location.href]))`,
    );
    expect(kept).not.toContain(cookie?.value ?? "none");
    expect(kept).not.toMatch(/eyJ[\w-]+\.|refresh|access_?token/iu);
    expect(await status(page, "GET", "/api/auth/me")).toBe(401);
    expect(await status(page, "POST", "/api/auth/refresh")).not.toBe(200);
    const forged = await page.context().request.post(`${here.url}/api/auth/refresh`, {
      headers: {
        origin: "https://evil.test",
        "x-atrium-session": "cookie",
        cookie: `${cookie?.name}=${cookie?.value}`,
      },
      data: {},
    });
    expect(forged.status()).toBe(403);
  });

  it("a session that is kept has a cookie with an end", async () => {
    const page = await here.open("/sign-in");
    await page.getByRole("checkbox", { name: "Keep me signed in" }).check();
    await here.signIn(page);
    const [cookie] = await page.context().cookies();
    expect(cookie?.expires).toBeGreaterThan(Date.now() / 1_000 + 86_400);
  });

  it("a reload keeps the session, and so do two tabs that reload at once", async () => {
    const page = await here.at("members");
    const second = await page.context().newPage();
    await second.goto(`${here.url}/console/keys`);
    for (let round = 0; round < 3; round++) {
      await Promise.all([page.reload(), second.reload()]);
      await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();
      await second.getByRole("heading", { level: 1, name: "Signing keys" }).waitFor();
    }
  });

  it("a sign-out moves the other tab, and Back shows no data", async () => {
    const page = await here.at("members");
    const second = await page.context().newPage();
    await second.goto(`${here.url}/console/audit`);
    await second.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    await page.goto(`${here.url}/console/me`);
    await page.getByRole("heading", { level: 1, name: "Profile" }).waitFor();
    await page.getByRole("button", { name: /^Account: / }).click();
    await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
    for (const tab of [page, second]) await tab.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    // The development profile names the first login in the head of the document.
    expect(await page.locator("body").innerText()).not.toContain(here.app.owner.email);
  });

  it("a sign-out leaves no token in the memory of the page", async () => {
    const page = await here.at("members");
    const tokens = new Set<string>();
    page.on("request", (request) => {
      const token = /^Bearer (.+)$/u.exec(request.headers()["authorization"] ?? "")?.[1];
      if (token !== undefined) tokens.add(token);
    });
    const devtools = await page.context().newCDPSession(page);
    const memory = async (): Promise<string> => {
      const parts: string[] = [];
      const keep = ({ chunk }: { chunk: string }): void => void parts.push(chunk);
      devtools.on("HeapProfiler.addHeapSnapshotChunk", keep);
      await devtools.send("HeapProfiler.collectGarbage");
      await devtools.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
      devtools.off("HeapProfiler.addHeapSnapshotChunk", keep);
      return parts.join("");
    };
    await page.reload();
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    expect(tokens.size).toBe(1);
    const [token = ""] = tokens;
    expect(await memory()).toContain(token);
    await page.getByRole("button", { name: /^Account: / }).click();
    await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await expect.poll(async () => (await memory()).includes(token)).toBe(false);
  });

  it("sessions elsewhere, or everywhere, end after a dialog that says how many they are", async () => {
    const page = await here.at("me/sessions");
    const login = () => here.app.login();
    const alive = async (token: string): Promise<number> =>
      (await here.app.call("GET", "/api/auth/me", { token })).status;
    const sessions = async (token: string): Promise<number> =>
      (await here.app.call("GET", "/api/auth/sessions?limit=1", { token })).body.total;
    const other = await login();
    await page.reload();
    const button = page.getByRole("table", { name: "Your sessions" }).getByRole("button", { name: /^Sign out / });
    const device = ((await button.first().getAttribute("aria-label")) ?? "").slice("Sign out ".length);
    await button.first().click();
    const one = page.getByRole("alertdialog", { name: `Sign out ${device}?` });
    await one.getByText("This ends the session from 127.0.0.1", { exact: false }).waitFor();
    expect(await one.locator(":focus").textContent()).toBe("Cancel");
    await one.getByRole("button", { name: "Sign out", exact: true }).click();
    await one.waitFor({ state: "detached" });
    expect(await alive(other)).toBe(401);

    const more = [await login(), await login()];
    await page.reload();
    const count = (await sessions(more[0] ?? "")) - 1;
    await page.getByRole("button", { name: "Sign out everywhere else" }).click();
    const elsewhere = page.getByRole("alertdialog", { name: "Sign out everywhere else?" });
    await elsewhere.getByText(`This ends ${count} sessions at once`, { exact: false }).waitFor();
    await elsewhere.getByRole("button", { name: "Sign out everywhere else" }).click();
    await page.getByText(`${count} sessions ended`).waitFor();
    for (const token of more) expect(await alive(token)).toBe(401);

    const last = await login();
    await page.getByRole("button", { name: /^Account: / }).click();
    await page.getByRole("menuitem", { name: "Sign out everywhere" }).click();
    const everywhere = page.getByRole("alertdialog", { name: "Sign out everywhere?" });
    await everywhere
      .getByText("This ends 2 sessions at once, on all devices, this one too.", { exact: false })
      .waitFor();
    await everywhere.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    expect(await alive(last)).toBe(401);
  });

  it("an idle session asks, goes on when it is told to, and ends when nobody answers", async () => {
    const page = await here.open();
    await page.clock.install();
    await here.signIn(page);
    await page.clock.fastForward(58.5 * 60_000);
    const asked = page.getByRole("alertdialog", { name: "Still there?" });
    await asked.getByRole("button", { name: "Stay signed in" }).click();
    await asked.waitFor({ state: "detached" });
    await page.clock.fastForward(61 * 60_000);
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await page.getByText("You were signed out because nothing was done for a while.").waitFor();
    expect(await page.context().cookies()).toEqual([]);
  });

  it("a step-up that is cancelled changes nothing; a password goes on with what was asked for", async () => {
    const page = await here.at("sessions");
    const revokeAll = async (): Promise<void> => {
      await page.getByRole("button", { name: "Revoke all" }).click();
      const dialog = page.getByRole("alertdialog");
      await dialog.getByText(/^This ends [1-9]\d* sessions?: everybody here/u).waitFor();
      expect(await dialog.getByRole("checkbox", { name: "Keep this session" }).isChecked()).toBe(true);
      await dialog.getByRole("textbox").fill(here.app.owner.org);
      await dialog.getByRole("button", { name: "Revoke all" }).click();
    };
    const token = await here.app.login();
    await revokeAll();
    const asked = page.getByRole("dialog", { name: "Confirm it is you" });
    await asked.getByRole("button", { name: "Cancel" }).click();
    await asked.waitFor({ state: "detached" });
    expect(await page.getByRole("alertdialog").getByRole("textbox").inputValue()).toBe(here.app.owner.org);
    expect((await here.app.call("GET", "/api/auth/me", { token })).status).toBe(200);
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke all" }).click();
    await asked.getByRole("radio", { name: "Password" }).check();
    await asked.getByRole("textbox", { name: "Password" }).fill(here.app.owner.password);
    await asked.getByRole("button", { name: "Confirm" }).click();
    await page.getByText(/^[1-9]\d* sessions? revoked$/u).waitFor();
    expect((await here.app.call("GET", "/api/auth/me", { token })).status).toBe(401);
    await page.getByText(/^Elevated, \d+:\d\d left$/u).waitFor();
    await page.getByRole("button", { name: "Drop", exact: true }).click();
    await page.getByText(/^Elevated, /u).waitFor({ state: "detached" });
    const other = await here.app.login();
    await page.reload();
    await page.getByRole("row").filter({ hasText: "node" }).first().getByRole("link").click();
    await page.getByRole("button", { name: "Revoke device" }).click();
    const device = page.getByRole("alertdialog", { name: "Revoke every session on this device?" });
    await device.getByRole("button", { name: "Revoke device" }).click();
    await page.getByText("Nobody is signed in.").or(page.getByText("No sessions match.")).waitFor();
    expect((await here.app.call("GET", "/api/auth/me", { token: other })).status).toBe(401);
  });

  it("a session that ended is opened again over the page, and the call goes on", async () => {
    const page = await here.at("api-keys");
    await page.getByRole("button", { name: "Create API key" }).click();
    const dialog = page.getByRole("dialog", { name: "Create API key" });
    await dialog.getByLabel("Name").fill("survivor");
    await dialog.getByRole("checkbox", { name: "read:users" }).check();
    await endSessions(here.app);
    await dialog.getByRole("button", { name: "Create" }).click();
    const asked = page.getByRole("dialog", { name: "Sign in again" });
    await asked.getByLabel("Password", { exact: true }).fill(here.app.owner.password);
    await asked.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alertdialog", { name: "Save this API key" }).waitFor();
  });

  it("five wrong answers lock the step-up, with a countdown", async () => {
    const page = await here.at("keys");
    await page.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Rotate" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it is you" });
    await asked.getByRole("radio", { name: "Password" }).check();
    for (let wrong = 0; wrong < 5; wrong++) {
      await asked.getByRole("textbox", { name: "Password" }).fill(`wrong password ${wrong}`);
      await asked.getByRole("button", { name: "Confirm" }).click();
      await asked.getByRole("alert").filter({ hasText: /\S/u }).waitFor();
      await expect.poll(() => asked.getByRole("textbox", { name: "Password" }).inputValue()).toBe("");
    }
    await asked.getByRole("textbox", { name: "Password" }).fill(here.app.owner.password);
    await asked.getByRole("button", { name: "Confirm" }).click();
    await asked.getByText(/^Too many wrong answers\. Try again in \d+:\d\d\.$/u).waitFor();
    expect(await asked.getByRole("button", { name: "Confirm" }).isDisabled()).toBe(true);
  });
});
