import { expect, it } from "vitest";
import openapi from "../../gen/openapi.json" with { type: "json" };
import { describeInBrowser, surroundings } from "./browser.ts";

/** Operations of the document: their paths and summaries. */
const OPERATIONS = Object.entries<Record<string, { summary?: string }>>(openapi.paths).flatMap(([path, methods]) =>
  Object.values(methods).map(({ summary }) => ({ path, summary })),
);

describeInBrowser("the documents in a browser", () => {
  const here = surroundings({}, "serve");

  it("the API reference shows every route and its summary, and asks no other host", async () => {
    const page = await here.open("/docs/api");
    await page.getByRole("heading", { level: 1, name: "Atrium" }).waitFor();
    const missing = async (): Promise<string[]> => {
      const text = (await page.locator("body").textContent()) ?? "";
      return OPERATIONS.flatMap(({ path, summary = "no summary" }) => [path, summary]).filter(
        (words) => !text.includes(words),
      );
    };
    expect(OPERATIONS.length).toBeGreaterThan(200);
    await expect.poll(missing, { interval: 500 }).toEqual([]);
  });

  it("guides and the pages of errors are reached from the documents", async () => {
    const page = await here.open("/docs");
    await page.getByRole("heading", { level: 1, name: "Documents" }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "Verify tokens" }).click();
    await page.getByRole("heading", { level: 1, name: "Verify tokens" }).waitFor();
    await page.goto(`${here.url}/docs/errors/step_up_required`);
    await page.getByRole("heading", { level: 1, name: "step_up_required" }).waitFor();
  });
});
