import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { billingWorld } from "../billing/support.ts";
import type { BillingWorld } from "../billing/support.ts";
import { runStory } from "../demo/story.ts";
import { MASTER_KEY } from "../support/app.ts";
import { temporalServer } from "../support/temporal.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ role: "all", temporal: await temporalServer(), clock: systemClock });
});
afterAll(() => world.close());

test("the demo's story runs from the first sign-in to the rendered document", async () => {
  const { app } = world;
  const reader = await app.login();
  const lines: string[] = [];
  await runStory({
    baseUrl: app.url,
    ownerEmail: app.owner.email,
    mutualTls: app.mutualTls,
    masterKey: MASTER_KEY.toString("base64"),
    say: (line) => lines.push(line),
  });
  const told = lines.join("\n");
  expect(told).toMatch(/accepted .*202\n.*\bactive .*welcome aboard\n.*active at https:\/\/orbit\.example\//u);
  expect(told).toMatch(
    /attempt 1 .*500 our database is down\n.*due.*\n.*recovers\n.*attempt 2 .*200 thank you\n.*delivered: 2 posts/u,
  );
  expect(told).toMatch(/17\. .* valid$/mu);
  expect(told).toMatch(/18\. .*spiffe:.*\n19\. .*admin\n20\. .*\n.*stream ends .*\n.*refused/u);
  expect(told).toMatch(/21\. .*versions 1 and 2\n.*refused.*\n.*marlin\n22\. .*sealed.*\n.*marlin$/mu);
  expect(told).toMatch(/24\. cleo-.*@corp\.test signs in .*employee\n25\. .* 1 user .*\n.*204; .* 401$/mu);
  expect(told).toMatch(/26\. .*denied.*\n27\. .*\$67\.83 .* 6783 cents\n28\. .* 0 subscriptions\n.*active, 3 seats\n/u);
  expect(told).toMatch(/entitlement:orbital-maps\n29\. .* 1000 count, then 0; used 100\n30\. /u);
  expect((await app.call("GET", "/api/auth/me", { token: reader })).status, "the reader's own session").toBe(200);
});
