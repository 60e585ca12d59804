import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { overtake, pausingLink } from "../support/pausing-link.ts";
import type { PausingLink } from "../support/pausing-link.ts";
import { outcome } from "../support/people.ts";
import { must } from "./stage.ts";

let database: TestDatabase;
let link: PausingLink;
let app: TestApp;
let market: Market;
beforeAll(async () => {
  database = await testDatabase();
  link = await pausingLink(database.url);
  app = await startApp({ databaseUrl: link.url });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
  await link.close();
  await database.close();
});

it("a report that was signed with a secret replaced meanwhile is refused, and changes nothing", async () => {
  const offer = await market.offer(() => ({ status: 202 }));
  const installId = must(await offer.install()).install_id as string;

  const answers = await overtake(
    link,
    database.url,
    "for share",
    () => offer.report(installId, { status: "active" }),
    () => app.call("POST", `/api/marketplace/apps/${offer.appId}/webhook/rotate`, { token: market.publisher }),
  );

  expect(answers.map(outcome)).toEqual(["401 unauthorized", "200"]);
  expect((await market.read(installId)).status).toBe("provisioning");
});
