import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults, RunOptions } from "axe-core";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { consoleFolder } from "../../src/launch/console.ts";
import { DOORS } from "../../src/server/static/console.ts";
import { textOf } from "../shape/sources.ts";
import { describeInBrowser, surroundings, visit } from "./browser.ts";
import { seedOrganization } from "./seed.ts";

/** Paths of the pages; those of one thing are reached from its list. */
const ROWS = ["src/console/pages.ts", "src/console/platform-pages.ts"].map(textOf).join("\n");
const PATHS = [...ROWS.matchAll(/\bpath: "([^"]*)"/gu)].map(([, path = ""]) => path);
const LISTS = PATHS.filter((path) => !path.includes("$"));
const OF_ORGANIZATIONS = LISTS.filter((path) => !/^(?:me|platform)\b/u.test(path));
const HALF = Math.ceil(OF_ORGANIZATIONS.length / 2);

describeInBrowser("the pages", () => {
  const here = surroundings({}, "serve");
  const sizeOf = (name: string): number => statSync(join(consoleFolder(), "console/assets", `${name}.gz`)).size;

  it("a door loads at most 220 KB of scripts, the console 700 KB of scripts and 30 KB of styles", async () => {
    const page = await here.open();
    const scripts = new Set<string>();
    page.on("response", (response) => {
      const name = /\/console\/assets\/([^/]+\.js)$/u.exec(response.url())?.[1];
      if (name !== undefined) scripts.add(name);
    });
    await page.goto(`${here.url}/sign-in`, { waitUntil: "networkidle" });
    const loaded = [...scripts].reduce((sum, name) => sum + sizeOf(name), 0);
    expect(scripts.size).toBeGreaterThan(1);
    expect(loaded).toBeLessThanOrEqual(220_000);
    const all = (ending: string): number =>
      readdirSync(join(consoleFolder(), "console/assets"))
        .filter((name) => name.endsWith(ending))
        .reduce((sum, name) => sum + sizeOf(name), 0);
    expect(all(".js")).toBeLessThanOrEqual(700_000);
    expect(all(".css")).toBeLessThanOrEqual(30_000);
  });

  describe("no page has a serious fault of accessibility, or scrolls sideways", () => {
    beforeAll(async () => {
      await seedOrganization(here.app);
    });

    it("at the doors", async () => {
      const page = await here.open();
      const faults: string[] = [];
      for (const path of ["/", ...DOORS]) {
        await page.goto(here.url + path);
        faults.push(...(await faultsOf(page, path)));
      }
      expect(faults).toEqual([]);
    });

    it.each([
      ["of a person", LISTS.filter((path) => /^me\b/u.test(path))],
      ["of an organization, first half", OF_ORGANIZATIONS.slice(0, HALF)],
      ["of an organization, second half", OF_ORGANIZATIONS.slice(HALF)],
      ["of the platform", LISTS.filter((path) => path.startsWith("platform/"))],
    ])("on the pages %s", async (_name, lists) => {
      const page = await here.open();
      const faults: string[] = [];
      await here.signIn(page);
      const judge = async (path: string): Promise<void> => {
        await page.evaluate(`document.querySelector("h1").dataset.left = ""`);
        await visit(page, path);
        faults.push(...(await faultsOf(page, `/console/${path}`)));
      };
      for (const path of lists) {
        // The overview is where the person already is.
        if (path === "") faults.push(...(await faultsOf(page, "/console")));
        else await judge(path);
        const own = page.locator(`main a[href^="/console/${path}/"]`).first();
        const thing = path !== "" && (await own.count()) > 0 ? ((await own.getAttribute("href")) ?? "") : "";
        if (thing !== "" && !LISTS.includes(thing.slice("/console/".length)))
          await judge(thing.slice("/console/".length));
      }
      expect(faults).toEqual([]);
    });

    it("while it loads, and under what opens over it: menus, dialogs, toasts", async () => {
      const page = await here.open();
      const faults: string[] = [];
      await here.signIn(page);
      const opener = page.locator(":focus");
      const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
      const dialog = (name: string): Locator =>
        page.getByRole("dialog", { name }).or(page.getByRole("alertdialog", { name }));
      /** Presses a button, judges what it opens, closes that, and looks where the focus is then. */
      const over = async (name: string | RegExp, opens: Locator): Promise<void> => {
        await page.setViewportSize({ width: 1280, height: 800 });
        await button(name).first().click();
        await opens.waitFor();
        faults.push(...(await faultsOf(page, String(name), [320])));
        await page.keyboard.press("Escape");
        await opens.waitFor({ state: "detached" });
        await expect.poll(() => opener.and(button(name)).count(), { message: String(name) }).toBe(1);
      };
      const goTo = async (path: string, heading: string): Promise<void> => {
        await page.goto(`${here.url}/console/${path}`);
        await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      };

      let release: (() => void) | undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      await page.route(/Service\/ListInvitations$/u, async (route) => {
        await held;
        await route.continue().catch(() => undefined);
      });
      await goTo("invitations", "Invitations");
      await page.getByText("Loading", { exact: true }).waitFor();
      faults.push(...(await faultsOf(page, "loading", [320, 768], true)));
      release?.();
      await page.getByRole("cell", { name: "ada@acme.test" }).waitFor();
      await page.unroute(/Service\/ListInvitations$/u);
      await over("Invite", dialog("Invite"));
      await over(/^Search/u, page.getByRole("dialog").filter({ has: page.getByRole("combobox") }));
      await over(/^Account: /u, page.getByRole("menu"));
      // A notice and a failure at once.
      await button("Resend").first().click();
      await page.getByRole("status").filter({ hasText: /\S/u }).first().waitFor();
      await page.route(/Service\/ListInvitations$/u, (route) => route.fulfill({ status: 500 }));
      await button("Download CSV").click();
      await page.getByRole("alert").filter({ hasText: "No file is saved" }).waitFor();
      faults.push(...(await faultsOf(page, "toasts", [320])));

      await goTo("me/security", "Security");
      await over("Add authenticator", dialog("Add authenticator"));
      await goTo("identities", "Service identities");
      await page.getByRole("link", { name: "billing-worker" }).click();
      await over("Issue JWT-SVID", dialog("Issue JWT-SVID"));
      await over("Issue SVID", dialog("Confirm it is you"));
      await over("Delete", dialog("Delete billing-worker?"));
      await button("Create automation token").click();
      await dialog("Create automation token").getByRole("button", { name: "Create" }).click();
      const secret = dialog("Save this automation token");
      await secret.getByRole("button", { name: "Show" }).click();
      faults.push(...(await faultsOf(page, "a secret", [320])));
      expect(faults).toEqual([]);
    });
  });
});

/** Looks at the dialog on top, where it is shown whole: fields and hints that something covers. */
const COVERED = `[...document.querySelectorAll("[role=dialog], [role=alertdialog]")].slice(-1)
  .filter(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)
  .flatMap((dialog) => [...dialog.querySelectorAll("input, textarea, select, [id$=-hint]")])
  .filter((field) => {
    const { left, width, bottom } = field.getBoundingClientRect();
    const top = document.elementFromPoint(left + width / 2, bottom - 2);
    return width > 1 && !(field.contains(top) || top?.contains(field));
  })
  .map(({ outerHTML }) => outerHTML.slice(0, 120))`;

/** Targets below 24 px, apart from links within text and fields that their label enlarges. */
const SMALL = `[...document.querySelectorAll("a[href], button, summary, select")]
  .filter((target) => {
    const { width, height } = target.getBoundingClientRect();
    const { display, clipPath } = getComputedStyle(target);
    return display !== "inline" && clipPath === "none" && width > 1 && height > 1 && Math.min(width, height) < 24;
  })
  .map(({ outerHTML }) => outerHTML.slice(0, 120))`;

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Violations of all rules of axe, or of some. Its script is loaded once per document. */
async function violations(page: Page, rules?: string[]): Promise<AxeResults["violations"]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  const options: RunOptions = {
    resultTypes: ["violations"],
    preload: false,
    ...(rules !== undefined && { runOnly: { type: "rule", values: rules } }),
  };
  return page.evaluate<AxeResults["violations"]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
}

/**
 * Serious faults by axe, sideways scrolling, small targets and covered fields of the page that is open: in both themes,
 * at two widths.
 */
async function faultsOf(page: Page, path: string, widths = [320, 1280], loading = false): Promise<string[]> {
  const faults: string[] = [];
  await page.locator("h1:not([data-left])").waitFor();
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      // Colours change over a moment.
      if (!loading) {
        await expect.poll(() => page.evaluate("document.getAnimations().length")).toBe(0);
        await expect.poll(() => page.locator('[aria-busy="true"]').count()).toBe(0);
      }
      // Colours alone depend on the theme.
      const rules = colorScheme === "dark" ? ["color-contrast"] : undefined;
      for (const { id, impact, nodes } of await violations(page, rules))
        if (impact === "serious" || impact === "critical")
          faults.push(
            `${path}, ${colorScheme}, ${width}: ${id} ${nodes.map(({ html }) => html.slice(0, 120)).join(" ")}`,
          );
    }
    const wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
    if (wide === true) faults.push(`${path} at ${width}: scrolls sideways`);
    const found = await page.evaluate<string[]>(`[...${SMALL}, ...${COVERED}]`);
    faults.push(...found.map((html) => `${path} at ${width}: too small, or covered: ${html}`));
  }
  return faults;
}
