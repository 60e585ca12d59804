import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { create } from "@bufbuild/protobuf";
import { GenerateCvRequestSchema } from "../../gen/atrium/templates/v1/cv_pb.ts";
import { printCv } from "../../src/domains/templates/cv.ts";
import { compileHtml, fillHtml } from "../../src/domains/templates/html/index.ts";
import { hasChromium, launchChromium } from "../support/chromium.ts";
import { HOSTILE, SAFE } from "./placements.ts";

/** In the page: focuses and points at everything, and follows links that are no addresses. */
const TOUCH_EVERYTHING = `
  for (const node of document.querySelectorAll("a, area, button, input, [tabindex]")) {
    node.focus();
    node.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    const url = URL.parse(node.getAttribute("href") ?? "", document.baseURI);
    if (url !== null && !url.protocol.startsWith("http")) node.click();
  }`;

describe.runIf(hasChromium("the tests of rendered documents"))("rendered documents in Chromium", () => {
  let browser: Browser;
  let page: Page;
  const address = "https://document.test/document";
  /** Requests to other hosts, and calls of `hit`. */
  const seen = { requests: [] as string[], hits: 0 };
  beforeAll(async () => {
    browser = await launchChromium();
    page = await browser.newPage();
    await page.exposeFunction("hit", () => void seen.hits++);
    page.on("dialog", (dialog) => void dialog.dismiss());
    await page.route("**/*", async (route) => {
      const url = new URL(route.request().url());
      // example.test is named by templates themselves.
      if (!["document.test", "example.test"].includes(url.hostname)) seen.requests.push(url.href);
      if (url.href === address) await route.fulfill({ contentType: "text/html", body: "" });
      else await route.abort();
    });
  });
  afterAll(() => browser.close());

  /** Replaces the document of the page: loading a page costs Chromium ten times as much. */
  async function open(html: string): Promise<void> {
    if (page.url() !== address) await page.goto(address);
    Object.assign(seen, { requests: [], hits: 0 });
    await page.setContent(html, { waitUntil: "domcontentloaded" });
    await page.evaluate(TOUCH_EVERYTHING);
  }

  test("the check notices a script that runs and a request that leaves", async () => {
    await open("<img src=x onerror=hit()><img src=https://leak.invalid/x>");
    await expect.poll(() => seen.hits).toBe(1);
    expect(seen.requests).toEqual(["https://leak.invalid/x"]);
  });

  test("no hostile value runs a script or sends a request, wherever a placeholder may stand", async () => {
    for (const [nth, body] of SAFE.entries()) {
      // Each value in every eighth placement, and each placement with every eighth value.
      for (const [index, value] of HOSTILE.entries()) {
        if ((nth + index) % 8 !== 0) continue;
        await open(fillHtml(compileHtml(body), () => value, 5_000_000));
        expect(seen, `${body} with ${value}`).toEqual({ requests: [], hits: 0 });
      }
    }
  });

  const sample = create(GenerateCvRequestSchema, {
    personal: { fullName: "Ada Lovelace", title: "Mathematician", email: "ada@people.test" },
    experience: [
      {
        company: "Analytical Engines",
        role: "Programmer",
        start: "1842",
        end: "1852",
        description: "Wrote the first program.\nDescribed loops and branches.",
      },
      { company: "Royal Society", role: "Translator", start: "1841", end: "1842", description: "Notes A to G." },
    ],
    education: [
      { institution: "Private tutors", degree: "Mathematics", year: { kind: { case: "numberValue", value: 1835 } } },
    ],
    skills: ["Analysis", "Bernoulli numbers", "French"],
  });

  test("a sample curriculum vitae prints on one A4 page, and fits a phone", async () => {
    await open(printCv(sample));
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
    expect(pdf.match(/\/Type\s*\/Page\b(?!s)/gu)).toHaveLength(1);
    expect(pdf).toMatch(/\/MediaBox\s*\[\s*0 0 59[45](?:\.\d+)? 84[12]/u);
    for (const width of [320, 768, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect(wide).toBeLessThanOrEqual(width);
      if (process.env["SCREENSHOTS"] !== undefined)
        await page.screenshot({ path: `${process.env["SCREENSHOTS"]}/cv-${width}.png`, fullPage: true });
    }
  });
});
