import { rmSync } from "node:fs";
import { consoleFolder } from "../../../src/launch/console.ts";
import { build, largestPaint, open, scriptsOf, signIn } from "../console-browser.ts";
import type { AtService } from "../console-browser.ts";
import { installEvent } from "./console-install.ts";
import { besideTemporalSize, besideTemporalTime } from "./console-temporal.ts";
import type { Row, FigureRow } from "./row.ts";

function row(
  name: string,
  title: string,
  unit: string,
  target: number,
  measure: (opened: AtService) => Promise<number>,
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
    await page.getByRole("button", { name: "Email", exact: true }).click();
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
export const consoleRows: readonly Row[] = [
  buildTime,
  doorSize,
  coldDoor,
  warmDoor,
  coldOverview,
  warmOverview,
  interactions,
  palette,
  installEvent,
  besideTemporalSize,
  besideTemporalTime,
];
