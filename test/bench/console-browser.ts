import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchChromium } from "../support/chromium.ts";
import type { Environment } from "./environment.ts";
import type { Service } from "./service.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Notes what a page took until its largest paint, and the longest interaction. */
const OBSERVE = `
  self.paints = []; self.interactions = [];
  new PerformanceObserver((list) => self.paints.push(...list.getEntries().map(({ startTime }) => startTime)))
    .observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => self.interactions.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "event", durationThreshold: 16, buffered: true });
`;

/** A browser at a page of its own. */
export interface Opened {
  browser: Browser;
  context: BrowserContext;
  page: Page;
  url: string;
  close(): Promise<void>;
}

/** A browser at the console of a service. */
export type AtService = Opened & { service: Service };

/** A new browser profile at the built console. */
export async function open(environment: Environment): Promise<AtService> {
  build();
  const service = await environment.keptService("console", { seededPeople: { people: 1, sessions: 1 } });
  const opened = await openBrowser(`http://127.0.0.1:${service.port}`);
  return { ...opened, service };
}

export async function openBrowser(url: string): Promise<Opened> {
  const browser = await launchChromium({ isMeasured: true });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(120_000);
  await context.addInitScript(OBSERVE);
  const page = await context.newPage();
  return { browser, context, page, url, close: () => browser.close() };
}

/** Builds the console if its sources changed. */
export const build = (): void =>
  void execFileSync(process.execPath, ["src/launch/build-console.ts"], { cwd: root, stdio: "ignore" });

/** Signs the first person in, and waits for the overview. */
export async function signIn({ page, url, service }: AtService): Promise<void> {
  const [person] = service.people;
  await page.goto(`${url}/sign-in`);
  await page.getByLabel("Organization").fill(person?.org_name ?? "");
  await page.getByLabel("Email", { exact: true }).fill(person?.email ?? "");
  await page.getByLabel("Password", { exact: true }).fill(person?.password ?? "");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}

/** Seconds until the largest paint; it is final once nothing loads any more. */
export async function largestPaint(page: Page): Promise<number> {
  await page.waitForLoadState("networkidle");
  return (await page.evaluate<number>("Math.max(...self.paints)")) / 1_000;
}

/** Kilobytes of scripts that a page brought over the network. */
export const scriptsOf = (page: Page): Promise<number> =>
  page.evaluate<number>(
    `performance.getEntriesByType("resource").filter(({ name }) => /\\.js$/.test(new URL(name).pathname))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000`,
  );

/** Kilobytes of everything that a page brought over the network, as it was sent. */
export const allOf = (page: Page): Promise<number> =>
  page.evaluate<number>(
    `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000`,
  );
