import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { consoleFolder } from "../../src/launch/console.ts";
import { callRest, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { hasChromium, launchChromium } from "../support/chromium.ts";
import { persistently } from "../support/persistently.ts";
import { root } from "../shape/sources.ts";
import { startProxy } from "./proxy.ts";
import type { Proxy } from "./proxy.ts";
import { temporalServer } from "../support/temporal.ts";

/** A suite in Chromium; skipped on a machine without it, except in continuous integration. */
export const describeInBrowser: typeof describe.skip = hasChromium("the tests of the console")
  ? describe
  : describe.skip;

/** The service with the built console, and Chromium. */
export interface Surroundings {
  app: TestApp;
  /** Address of the console, `http://127.0.0.1:port`. */
  url: string;
  browser: Browser;
  /** Hosts of the test's own servers, which pages may go to besides the service. */
  friends: Set<string>;
  /** A page of a new browser profile. What breaks the content security policy fails the test. */
  open(path?: string, options?: Parameters<Browser["newContext"]>[0]): Promise<Page>;
  /** Signs the owner in, and waits for the overview. */
  signIn(page: Page): Promise<void>;
  /** The state of a browser in which somebody is signed in. */
  sessionOf(who: { email: string; org: string; password: string }): Promise<State>;
  /** A page of a new browser profile, in which the owner is signed in and at a path below `/console/`. */
  at(path: string): Promise<Page>;
}

type State = Awaited<ReturnType<BrowserContext["storageState"]>>;
type Env = Record<string, string>;

/** Starts service, console and Chromium once for a file. `env` may start what the service needs. */
export function surroundings(
  env: Env | (() => Promise<Env>) = {},
  role: "all" | "serve" = "all",
  /** Path under which a proxy serves the service, such as `/atrium`. */
  prefix?: string,
  clock: Clock = systemClock,
): Surroundings {
  const contexts: BrowserContext[] = [];
  const faults: string[] = [];
  const here = { friends: new Set() } as unknown as Surroundings;
  let proxy: Proxy | undefined;

  beforeAll(async () => {
    // Builds only what has changed.
    execFileSync(process.execPath, ["src/launch/build-console.ts"], {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"],
    });
    proxy = prefix === undefined ? undefined : await startProxy(prefix);
    const app = await startApp({
      role,
      clock,
      consoleFolder: consoleFolder(),
      env: {
        ...(typeof env === "function" ? await env() : env),
        ...(proxy !== undefined && { SERVICE_BASE_URL: proxy.url }),
      },
      ...(role === "all" && { temporal: await temporalServer() }),
    });
    const browser = await launchChromium();
    proxy?.forwardTo(app.url);
    const url = proxy?.url ?? app.url;
    Object.assign(here, { app, url, browser, open, signIn, sessionOf, at } satisfies Omit<Surroundings, "friends">);
  });
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(faults.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await here.browser?.close();
    await here.app?.close();
    await proxy?.close();
  });

  const open: Surroundings["open"] = async (at, options) => {
    // Endless animations, which Chromium draws without a graphics card, cost more than the pages.
    const usual = { viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" } as const;
    const context = await here.browser.newContext({ ...usual, ...options });
    contexts.push(context);
    // Ten times and more what a busy machine takes.
    context.setDefaultTimeout(120_000);
    watch(context, here, faults);
    const page = await context.newPage();
    if (at !== undefined) await page.goto(here.url + at);
    return page;
  };
  const signIn: Surroundings["signIn"] = async (page) => {
    const { email, org, password } = here.app.owner;
    if (!page.url().includes("/sign-in")) await page.goto(`${here.url}/sign-in`);
    await page.getByLabel("Organization").fill(org);
    await page.getByLabel("Email", { exact: true }).fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  };
  /** Signs in as the door does, without its form and the overview after it, which take a second and more. */
  const sessionOf: Surroundings["sessionOf"] = async ({ email, org, password }) => {
    const { origin, hostname: domain } = new URL(here.url);
    const device = randomUUID();
    const userAgent = `HeadlessChrome/${here.browser.version()}`;
    const { headers, text } = await persistently(() =>
      callRest(here.url, "POST", "/api/auth/login", {
        headers: { origin, "x-atrium-session": "cookie", "x-device-uuid": device, "user-agent": userAgent },
        body: { email, password, org_name: org },
      }),
    );
    const [, name, value] = /^([^=]+)=([^;]+);/u.exec(headers.get("set-cookie") ?? "") ?? [];
    if (name === undefined || value === undefined) throw new Error(`no session cookie: ${text}`);
    return {
      cookies: [{ name, value, domain, path: "/", expires: -1, secure: true, httpOnly: true, sameSite: "Strict" }],
      origins: [{ origin, localStorage: [{ name: "atrium.device", value: device }] }],
    };
  };
  const at: Surroundings["at"] = async (path) => {
    const page = await open(undefined, { storageState: await sessionOf(here.app.owner) });
    await page.goto(`${here.url}/console/${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    return page;
  };
  return here;
}

/** Goes to a path below `/console/` as a link does, which loads nothing anew. */
export const visit = (page: Page, path: string): Promise<void> =>
  page.evaluate(`history.pushState(null, "", "/console/${path}"); dispatchEvent(new PopStateEvent("popstate"))`);

/** A button in the row of a table that has a text. */
export const rowButton = (page: Page, row: string, name: string): Locator =>
  page.getByRole("row").filter({ hasText: row }).getByRole("button", { name, exact: true });

/** Notes violations of the content security policy, requests to other hosts, and errors that nothing caught. */
function watch(context: BrowserContext, { url, friends }: Surroundings, faults: string[]): void {
  const { host } = new URL(url);
  context.on("page", (page) => {
    page.on("console", (message) => {
      if (/content security policy|trustedhtml|trusted type/iu.test(message.text())) faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(`${error.message}\n${error.stack ?? ""}`));
  });
  context.on("request", (request) => {
    const to = new URL(request.url());
    if (/^https?:$/u.test(to.protocol) && to.host !== host && !friends.has(to.host))
      faults.push(`foreign request to ${request.url()}`);
  });
}
