import { cpSync } from "node:fs";
import type { AddressInfo } from "node:net";
import path from "node:path";
import reader from "jsqr";
import { generateSync } from "otplib";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { build, preview } from "vite";
import type { PreviewServer } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../shape/sources.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { hasChromium, launchChromium } from "../support/chromium.ts";
import { installPacked } from "./packed.ts";
import type { Installed } from "./packed.ts";

// At run time the import is the function; its types say a module around it.
const jsQR = reader as unknown as typeof reader.default;

describe.runIf(hasChromium("the tests of the browser example"))("the example browser", () => {
  let app: TestApp;
  let installed: Installed;
  let server: PreviewServer;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let url: string;
  let secret = "";
  const faults: string[] = [];
  beforeAll(async () => {
    app = await startApp();
    installed = installPacked(["uqr"]);
    const folder = path.join(installed.folder, "examples/browser");
    cpSync(path.join(root, "examples/browser"), folder, { recursive: true });
    process.env["VITE_ATRIUM_URL"] = app.url;
    const common = { root: folder, configFile: false, logLevel: "warn" } as const;
    await build(common);
    server = await preview({ ...common, preview: { host: "127.0.0.1", port: 0 } });
    url = `http://127.0.0.1:${(server.httpServer.address() as AddressInfo).port}`;
    browser = await launchChromium();
    context = await browser.newContext();
    // Ten times and more what a busy machine takes.
    context.setDefaultTimeout(120_000);
    context.on("weberror", (error) => faults.push(String(error.error())));
    page = await context.newPage();
  });
  afterAll(async () => {
    delete process.env["VITE_ATRIUM_URL"];
    await browser?.close();
    await server?.close();
    installed?.remove();
    await app?.close();
    expect(faults).toEqual([]);
  });

  const caller = (at: Page, org: string) => at.getByRole("heading", { name: `${app.owner.email} in ${org}` });
  const code = (): string => generateSync({ secret, epoch: app.clock.now() / 1_000 });
  async function signIn(password = app.owner.password): Promise<void> {
    await page.getByLabel("Email").fill(app.owner.email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  }
  /** Moves the clocks of the service and of the pages. */
  async function advance(ms: number): Promise<void> {
    app.clock.advance(ms);
    await context.clock.setFixedTime(app.clock.now());
  }

  it("the page signs in, switches the organization, and goes on after a reload", async () => {
    const token = await app.login();
    const made = await app.call("POST", "/api/organizations", { token, body: { name: "Other" } });
    expect(made.status).toBe(201);
    await page.goto(url);
    await signIn("a wrong password");
    await page.getByText("(unauthorized)").waitFor();
    await signIn();
    await page.getByLabel("Organization").selectOption("Acme");
    await caller(page, "Acme").waitFor();
    await page.getByLabel("Organization").selectOption("Other");
    await caller(page, "Other").waitFor();
    await page.reload();
    await caller(page, "Other").waitFor();
  });

  it("two tabs whose access token has expired refresh once, and both go on", async () => {
    const other = await context.newPage();
    await other.goto(url);
    await caller(other, "Other").waitFor();
    let refreshes = 0;
    context.on("response", (response) => {
      if (response.url().endsWith("/Refresh")) refreshes++;
    });
    await advance(16 * 60_000);
    const answered = [page, other].map((at) => at.waitForResponse((response) => response.url().endsWith("/GetMe")));
    await Promise.all([page, other].map((at) => at.getByRole("button", { name: "Reload" }).click()));
    expect((await Promise.all(answered)).map((response) => response.status())).toEqual([200, 200]);
    expect(refreshes).toBe(1);
    // A response that comes after another tab has signed out does not show the caller again.
    let release = (): void => undefined;
    const isSignedOut = new Promise<void>((resolve) => (release = resolve));
    await page.route("**/GetMe", async (route) => {
      const response = await route.fetch();
      await isSignedOut;
      await route.fulfill({ response });
    });
    const asked = page.waitForRequest((request) => request.url().endsWith("/GetMe"));
    await page.getByRole("button", { name: "Reload" }).click();
    await asked;
    await other.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    const late = page.waitForResponse((response) => response.url().endsWith("/GetMe"));
    release();
    await (await late).finished();
    await page.unroute("**/GetMe");
    // By the end of another round trip the page has handled the response.
    await page.evaluate(async () => (await fetch("/")).text());
    expect(await page.getByRole("button", { name: "Sign in" }).isVisible()).toBe(true);
    await other.close();
  });

  it("an authenticator is added by QR code, and its code is asked for at the next sign-in", async () => {
    await signIn();
    await page.getByRole("button", { name: "Add an authenticator" }).click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    const pixels = Buffer.from(await page.evaluate<string>(DRAW), "latin1");
    const text = jsQR(new Uint8ClampedArray(pixels), SIZE, SIZE)?.data ?? "";
    secret = new URL(text).searchParams.get("secret") ?? "";
    await page.getByLabel("Code shown after scanning").fill(code());
    await page.getByRole("button", { name: "Activate" }).click();
    await page.getByRole("button", { name: "Add an authenticator" }).waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn();
    // A code is accepted once.
    await advance(60_000);
    await page.getByLabel("Code of your authenticator").fill(code());
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: app.owner.email }).waitFor();
  });
});

/** Pixels of a side of the drawn QR code. */
const SIZE = 256;

/** Draws the QR code of the page; evaluates to the bytes of its pixels, each as a character. */
const DRAW = `(async () => {
  const svg = document.querySelector("#qr svg");
  svg.setAttribute("width", ${SIZE});
  svg.setAttribute("height", ${SIZE});
  const image = new Image();
  image.src = "data:image/svg+xml," + encodeURIComponent(new XMLSerializer().serializeToString(svg));
  await image.decode();
  const canvas = new OffscreenCanvas(${SIZE}, ${SIZE}).getContext("2d");
  canvas.drawImage(image, 0, 0, ${SIZE}, ${SIZE});
  const { data } = canvas.getImageData(0, 0, ${SIZE}, ${SIZE});
  return Array.from(data, (byte) => String.fromCharCode(byte)).join("");
})()`;
