import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { runStory } from "../demo/story.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { temporalServer } from "../support/temporal.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock });
});
afterAll(() => app.close());

test("the demo's story runs from the first sign-in to the last refusal", async () => {
  const lines: string[] = [];
  await runStory({ baseUrl: app.url, ownerEmail: app.owner.email, say: (line) => lines.push(line) });
  expect(lines.at(-1)).toMatch(/16\. .* valid$/);
  expect(lines.join("\n")).toContain("active at https://orbit.example/");
}, 60_000);
