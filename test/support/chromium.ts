import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, LaunchOptions } from "playwright-core";

/** Chromium without the windows around its pages, which take a quarter of the processor time of a test. */
const SHELL = "chromium-headless-shell";
const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];

/**
 * Disabled features. Chromium uses only the last `--disable-features` switch, so the list repeats Playwright's after
 * the first three. With the first two enabled, each window loads two pages for the suggestions of its address bar,
 * which take half of the processor time of a new browser profile; with the third, each page starts a renderer more.
 */
const DISABLED_FEATURES = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "SpareRendererForSitePerProcess",
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];

/** Code of a page that lives for seconds: to optimize it takes more processor time than it saves. */
const UNOPTIMIZED = "--js-flags=--no-maglev,--no-turbofan";

interface Launch extends Pick<LaunchOptions, "ignoreDefaultArgs"> {
  /** Whether the speed of pages is measured: in the whole browser, as people have it. */
  isMeasured?: boolean;
}

/** Starts Chromium without a window. */
export async function launchChromium({ isMeasured = false, ...options }: Launch = {}): Promise<Browser> {
  const executablePath = chromiumPath(isMeasured ? BROWSERS : [SHELL, ...BROWSERS]);
  if (executablePath === undefined) throw new Error(`${BROWSERS[0]} is not installed; CHROMIUM_PATH names one`);
  const args = ["--no-sandbox", `--disable-features=${DISABLED_FEATURES.join(",")}`];
  if (!isMeasured) args.push(UNOPTIMIZED);
  return chromium.launch({ ...options, executablePath, args });
}

/** Whether Chromium is installed. Where it is not, prints what is skipped, and throws in continuous integration. */
export function hasChromium(what: string): boolean {
  if (chromiumPath() !== undefined) return true;
  const message = `Chromium is not installed (CHROMIUM_PATH names one); ${what} need it.`;
  if (process.env["CI"] !== undefined) throw new Error(message);
  console.warn(`Skipped: ${message}`);
  return false;
}

/** Path of Chromium: `CHROMIUM_PATH`, else from the search path; undefined where there is none. */
function chromiumPath(names: readonly string[] = [SHELL, ...BROWSERS]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const candidates = [
    process.env["CHROMIUM_PATH"] ?? "",
    ...names.flatMap((name) => folders.map((at) => join(at, name))),
  ];
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return path !== "";
    } catch {
      return false;
    }
  });
}
