import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { consoleFolder } from "../../../src/launch/console.ts";
import { chromiumPath } from "../../support/chromium.ts";
import type { Environment } from "../environment.ts";
import type { Service } from "../service.ts";
import type { FigureRow } from "./row.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Notes what a page took until its largest paint, and the longest interaction. */
const OBSERVE = `
  self.paints = []; self.interactions = [];
  new PerformanceObserver((list) => self.paints.push(...list.getEntries().map(({ startTime }) => startTime)))
    .observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => self.interactions.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "event", durationThreshold: 16, buffered: true });
`;

interface Opened {
  browser: Browser;
  context: BrowserContext;
  page: Page;
  url: string;
  close(): Promise<void>;
}

/** A new browser profile at the built console. */
async function open(environment: Environment): Promise<Opened & { service: Service }> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error("Chromium is not installed; CHROMIUM_PATH names one");
  build();
  const service = await environment.keptService("console", { seededPeople: { people: 1, sessions: 1 } });
  const opened = await openBrowser(executablePath, `http://127.0.0.1:${service.port}`);
  return { ...opened, service };
}

async function openBrowser(executablePath: string, url: string): Promise<Opened> {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(120_000);
  await context.addInitScript(OBSERVE);
  const page = await context.newPage();
  return { browser, context, page, url, close: () => browser.close() };
}

const build = (): void =>
  void execFileSync(process.execPath, ["src/launch/build-console.ts"], { cwd: root, stdio: "ignore" });

async function signIn({ page, url, service }: Opened & { service: Service }): Promise<void> {
  const [person] = service.people;
  await page.goto(`${url}/sign-in`);
  await page.getByLabel("Organization").fill(person?.org_name ?? "");
  await page.getByLabel("Email", { exact: true }).fill(person?.email ?? "");
  await page.getByLabel("Password", { exact: true }).fill(person?.password ?? "");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}

/** Seconds until the largest paint; it is final once nothing loads any more. */
async function largestPaint(page: Page): Promise<number> {
  await page.waitForLoadState("networkidle");
  return (await page.evaluate<number>("Math.max(...self.paints)")) / 1_000;
}

/** Kilobytes of scripts that a page brought over the network. */
const scriptsOf = (page: Page): Promise<number> =>
  page.evaluate<number>(
    `performance.getEntriesByType("resource").filter(({ name }) => /\\.js$/.test(new URL(name).pathname))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000`,
  );

function row(
  name: string,
  title: string,
  unit: string,
  target: number,
  measure: (opened: Opened & { service: Service }) => Promise<number>,
): FigureRow {
  return {
    kind: "figure",
    name,
    title,
    unit,
    target,
    async measure(environment) {
      const opened = await open(environment);
      try {
        return await measure(opened);
      } finally {
        await opened.close();
      }
    },
  };
}

const coldDoor = row("console-door-cold", "/sign-in to its largest paint, cold", "s", 1.2, async ({ page, url }) => {
  await page.goto(`${url}/sign-in`);
  return largestPaint(page);
});

const warmDoor = row("console-door-warm", "the same with a warm cache", "s", 1.2, async ({ page, url }) => {
  await page.goto(`${url}/sign-in`, { waitUntil: "networkidle" });
  await page.reload();
  return largestPaint(page);
});

const doorSize = row("console-door-kb", "scripts of /sign-in, compressed", "KB", 220, async ({ page, url }) => {
  await page.goto(`${url}/sign-in`, { waitUntil: "networkidle" });
  return scriptsOf(page);
});

const coldOverview = row(
  "console-overview-cold",
  "/console to its largest paint, signed in, cold",
  "s",
  1.8,
  async (opened) => {
    await signIn(opened);
    // Nothing but the session's cookie comes along to the new profile's cache.
    const session = await opened.context.newCDPSession(opened.page);
    await session.send("Network.clearBrowserCache");
    await opened.page.goto(`${opened.url}/console`);
    await opened.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    return largestPaint(opened.page);
  },
);

const warmOverview = row("console-overview-warm", "the same with a warm cache", "s", 1.8, async (opened) => {
  await signIn(opened);
  await opened.page.waitForLoadState("networkidle");
  await opened.page.reload();
  await opened.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  return largestPaint(opened.page);
});

const palette = row("console-palette", "palette on the screen after its key", "ms", 100, async (opened) => {
  await signIn(opened);
  const { page } = opened;
  await page.waitForLoadState("networkidle");
  await page.evaluate(`
    self.shown = new Promise((resolve) => addEventListener("keydown", ({ timeStamp }) => {
      const look = () => document.querySelector('[role="combobox"], [role="dialog"] input') === null
        ? requestAnimationFrame(look)
        : requestAnimationFrame(() => resolve(performance.now() - timeStamp));
      look();
    }, { once: true }));
    undefined`);
  await page.keyboard.press("Control+k");
  return page.evaluate<number>("self.shown");
});

const PLACES = ["Members", "Session inventory", "Audit log", "Signing keys", "Vault", "API keys", "Webhooks"];

const interactions = row(
  "console-inp",
  "longest interaction: 7 pages, search, sort, palette",
  "ms",
  200,
  async (opened) => {
    await signIn(opened);
    const { page } = opened;
    const main = page.getByRole("navigation", { name: "Main" });
    for (const name of PLACES) {
      await main.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    }
    await main.getByRole("link", { name: "Members", exact: true }).click();
    await page.getByRole("searchbox").pressSequentially("owner");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("audit");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    return page.evaluate<number>("Math.max(0, ...self.interactions)");
  },
);

const buildTime: FigureRow = {
  kind: "figure",
  name: "console-build",
  title: "build of the console",
  unit: "s",
  target: 20,
  async measure() {
    rmSync(consoleFolder(), { recursive: true, force: true });
    const began = performance.now();
    build();
    return (performance.now() - began) / 1_000;
  },
};

/** Budgets of the console in Chromium. */
export const consoleRows: readonly FigureRow[] = [
  buildTime,
  doorSize,
  coldDoor,
  warmDoor,
  coldOverview,
  warmOverview,
  interactions,
  palette,
];
