import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market, Offer } from "../support/market.ts";
import { outcome } from "../support/people.ts";
import { must } from "./stage.ts";

let app: TestApp;
let market: Market;
beforeAll(async () => {
  app = await startApp();
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

async function requested(): Promise<{ offer: Offer; installId: string }> {
  const offer = await market.offer(() => ({ status: 202 }));
  return { offer, installId: must(await offer.install()).install_id as string };
}

it("a report is read with the lowerCamelCase names of its members", async () => {
  const { offer, installId } = await requested();
  must(await offer.report(installId, { status: "active", endpointUrl: "https://orbit.example/camel" }));
  expect(await market.read(installId)).toMatchObject({
    status: "active",
    endpoint_url: "https://orbit.example/camel",
  });
});

it("a report that has a member under both of its names is refused and changes nothing", async () => {
  const { offer, installId } = await requested();
  const both = { endpoint_url: "https://orbit.example/a", endpointUrl: "https://orbit.example/b" };
  expect(outcome(await offer.report(installId, { status: "active", ...both }))).toBe("400 bad_request");
  expect(await market.read(installId)).toMatchObject({ status: "provisioning", endpoint_url: null });
});

it("a report of an unknown status says which there are", async () => {
  const { offer, installId } = await requested();
  for (const status of [undefined, "", "suspended", 5])
    expect(await offer.report(installId, { status })).toMatchObject({
      status: 400,
      body: {
        errors: [{ field: "status", code: "not_allowed", message: "must be one of active, failed, deprovisioned" }],
      },
    });
  expect((await market.read(installId)).status).toBe("provisioning");
});

it("the timeline has a note of a reported cloud target that is not stored", async () => {
  const { offer, installId } = await requested();
  must(await offer.report(installId, { status: "active", message: "ready", cloudTarget: { provider: "aws" } }));
  expect((await market.read(installId)).timeline.at(-1)).toMatchObject({
    event: "active",
    detail: expect.stringMatching(/^ready; its cloud_target does not have .* and was not kept$/u),
  });
});
