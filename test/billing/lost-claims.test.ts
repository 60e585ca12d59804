import { afterAll, beforeAll, expect, it } from "vitest";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { losingLink } from "../support/losing-link.ts";
import type { LosingLink } from "../support/losing-link.ts";
import { billingWorld } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let home: TestDatabase;
let link: LosingLink;
let world: BillingWorld;
beforeAll(async () => {
  home = await testDatabase();
  link = await losingLink(home.url);
  world = await billingWorld({ databaseUrl: link.url });
});
afterAll(async () => {
  await world.close();
  await link.close();
  await home.close();
});

it("a checkout whose claim took effect and lost its answer can be opened again at once", async () => {
  const post = (path: string, body: object) => world.app.call("POST", path, { token: world.buyer.token, body });
  const { body: quote } = await post("/api/pricing/quote", { price_id: world.priceId });
  const open = () => post("/api/pricing/checkout-session", { quote_id: quote.quote_id, provider: "stripe" });
  const [first] = await Promise.all([open(), link.lose("insert into checkouts")]);
  expect([first.status, first.headers.get("retry-after")]).toEqual([503, "1"]);
  expect((await open()).body).toMatchObject({ quote_id: quote.quote_id, status: "open" });
});
