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
  const reader = await app.login();
  const lines: string[] = [];
  await runStory({ baseUrl: app.url, ownerEmail: app.owner.email, say: (line) => lines.push(line) });
  expect(lines.at(-1)).toMatch(/17\. .* valid$/);
  const told = lines.join("\n");
  expect(told).toMatch(/accepted .*202\n.*\bactive .*welcome aboard\n.*active at https:\/\/orbit\.example\//u);
  expect(told).toMatch(
    /attempt 1 .*500 our database is down\n.*due.*\n.*recovers\n.*attempt 2 .*200 thank you\n.*delivered: 2 posts/u,
  );
  expect((await app.call("GET", "/api/auth/me", { token: reader })).status, "the reader's own session").toBe(200);
});
