import jsqr from "jsqr";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { testClock } from "../support/clock.ts";
import { doors, publicUrl } from "./at-doors.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

const env = { ...(await publicUrl()), SERVICE_OPEN_SIGNUP: "1", SERVICE_RATE_LIMITS: "off" };

const REFUSED = { code: "permission_denied", message: "You may not remove it." };

describeInBrowser("own security", () => {
  const clock = testClock();
  const here = surroundings(env, "all", undefined, clock);
  const { heading, mailed, founder, enter } = doors(here);

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

  /** The lines that a browser would print. */
  async function printed(page: Page, print: () => Promise<void>): Promise<string[]> {
    await page.emulateMedia({ media: "print" });
    await page.evaluate("window.print = () => { window.sheet = document.body.innerText; }");
    await print();
    await page.evaluate('dispatchEvent(new Event("afterprint"))');
    await page.emulateMedia({ media: "screen" });
    const sheet = await page.evaluate<string>("window.sheet");
    expect(sheet).not.toContain("•");
    expect(sheet).not.toContain("I have saved it");
    expect(sheet).not.toContain("Sign out");
    return sheet.split("\n");
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
    const refuse = () =>
      page.route(/Service\/DeleteFactor/u, (route) =>
        route.fulfill({ status: 403, contentType: "application/json", body: JSON.stringify(REFUSED) }),
      );
    await page.getByRole("button", { name: "Add authenticator" }).click();
    await refuse();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("main").getByRole("alert").filter({ hasText: REFUSED.message }).waitFor();
    await page.unroute(/Service\/DeleteFactor/u);
    await page.getByRole("button", { name: /^Remove / }).click();
    const removal = page.getByRole("alertdialog", { name: /^Remove .*\?$/u });
    await removal.getByRole("button", { name: "Remove" }).click();
    await removal.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Add authenticator" }).click();
    const secret = await dialog.getByRole("textbox", { name: "Secret key" }).inputValue();
    const scanned = new URL((await scan(page, dialog.getByRole("img", { name: "QR code" }))) ?? "");
    expect(scanned.protocol).toBe("otpauth:");
    expect(scanned.searchParams.get("secret")).toBe(secret);
    await dialog.getByLabel("Code", { exact: true }).fill(codeAt(secret, clock.now()));
    await dialog.getByRole("button", { name: "Activate" }).click();
    const saved = page.getByRole("alertdialog", { name: "Save this set of recovery codes" });
    await saved.getByRole("button", { name: "Show" }).click();
    const first = ((await saved.locator("pre").textContent()) ?? "").split("\n");
    expect(new Set(first).size).toBe(10);
    await saved.getByRole("button", { name: "Hide" }).click();
    expect(await printed(page, () => saved.getByRole("button", { name: "Print" }).click())).toEqual(
      expect.arrayContaining(first),
    );
    await saved.getByRole("button", { name: "I have saved it" }).click();
    await page.getByText("10 codes left.").waitFor();
    // Others are made only after a question.
    await page.getByRole("button", { name: "New recovery codes" }).click();
    const renewal = page.getByRole("alertdialog", { name: "Make new recovery codes?" });
    await renewal.getByText("Your present codes stop working at once.").waitFor();
    await renewal.getByRole("button", { name: "Make new codes" }).click();
    await saved.getByRole("button", { name: "Show" }).click();
    const codes = ((await saved.locator("pre").textContent()) ?? "").split("\n");
    expect(new Set([...first, ...codes]).size).toBe(20);
    expect(await renewal.count()).toBe(0);
    await saved.getByRole("button", { name: "I have saved it" }).click();
    const document = await page.content();
    for (const shown of [secret, ...first, ...codes]) expect(document).not.toContain(shown);

    await refuse();
    await page.getByRole("button", { name: /^Remove / }).click();
    await removal.getByText("Your password alone will be enough", { exact: false }).waitFor();
    await removal.getByRole("button", { name: "Remove" }).click();
    await removal.getByRole("alert").filter({ hasText: REFUSED.message }).waitFor();
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

  it("a step-up by mail survives an answer that is lost: the same link confirms, and nothing is counted", async () => {
    const who = await founder();
    const page = await enter(who);
    await heading(page, "Overview");
    await page.goto(`${here.url}/console/keys`);
    await page.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Rotate" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it is you" });
    await asked.getByRole("radio", { name: "Email link" }).check();
    const created: string[] = [];
    page.on("request", (request) => created.push(...(request.url().match(/CreateChallenge$/u) ?? [])));
    await asked.getByRole("button", { name: "Send the link" }).click();
    await asked.getByRole("textbox", { name: "Email link" }).waitFor();
    const link = await mailed(who.email, "/step-up");
    const token = new URLSearchParams(link.split("#")[1]).get("token") ?? "";
    await page.route(/VerifyChallenge/u, (route) => route.abort("connectionrefused"));
    await asked.getByRole("textbox", { name: "Email link" }).fill(` ${token} `);
    await asked.getByRole("button", { name: "Confirm" }).click();
    await asked.getByRole("alert").filter({ hasText: "The service did not answer." }).waitFor();
    await page.unroute(/VerifyChallenge/u);
    await asked.getByRole("button", { name: "Confirm" }).click();
    await page.getByText(/^Elevated, \d+:\d\d left$/u).waitFor();
    expect(created).toHaveLength(1);
  });

  it("a step-up by mail goes on in the tab that asked; another browser shows the token to be copied", async () => {
    const page = await here.open("/sign-in");
    await here.signIn(page);
    const ask = async (tab: Page) => {
      await tab.goto(`${here.url}/console/keys`);
      await tab.getByRole("button", { name: "Rotate" }).click();
      await tab.getByRole("alertdialog").getByRole("button", { name: "Rotate" }).click();
      const dialog = tab.getByRole("dialog", { name: "Confirm it is you" });
      await dialog.getByRole("radio", { name: "Email link" }).check();
      await dialog.getByRole("button", { name: "Send the link" }).click();
      await dialog.getByRole("textbox", { name: "Email link" }).waitFor();
      return dialog;
    };
    // Another tab waits for its own link: neither this one nor the acknowledgement of it is for that tab.
    const other = await page.context().newPage();
    const verified: string[] = [];
    other.on("request", (request) => verified.push(...(request.url().match(/VerifyChallenge$/u) ?? [])));
    const waiting = await ask(other);
    const replaced = await mailed(here.app.owner.email, "/step-up");
    const asked = await ask(page);
    await expect.poll(() => mailed(here.app.owner.email, "/step-up")).not.toBe(replaced);
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
    expect(verified).toEqual([]);
    await waiting.getByRole("textbox", { name: "Email link" }).waitFor();
  });
});
