import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { temporalServer } from "../support/temporal.ts";

/** A service with a deadline for provisioning, a market, and what ends both. */
async function open(deadline: string): Promise<{ app: TestApp; market: Market; close: () => Promise<void> }> {
  const env = {
    SERVICE_WEBHOOK_SCHEDULE: "0s,100ms",
    SERVICE_PROVISION_DEADLINE: deadline,
    SERVICE_DEPROVISION_DEADLINE: "700ms",
  };
  const app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock, env });
  const market = await openMarket(app);
  const close = async (): Promise<void> => {
    await market.close();
    await app.close();
  };
  return { app, market, close };
}

let market: Market;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ market, close } = await open("4s"));
});
afterAll(() => close());

const events = (install: { timeline: { event: string }[] }): string[] => install.timeline.map(({ event }) => event);

it("an install whose publisher never succeeds fails, and no deprovisioning follows", async () => {
  const offer = await market.offer(() => ({ status: 500 }));
  const { body } = await offer.install();
  const install = await market.until(body.install_id, "deprovisioned");
  expect(install.failure_reason).toMatch(/\w/u);
  expect(new Set(events(install))).toEqual(new Set(["requested", "attempt_failed", "failed"]));
  expect(new Set(offer.server.calls.map(({ type }) => type))).toEqual(new Set(["install.provisioning"]));
  expect((await offer.report(body.install_id, { status: "active" })).body).toMatchObject({
    status: 409,
    code: "invalid_transition",
  });
});

it("an install fails when no report follows a response of 202", async () => {
  const offer = await market.offer(() => ({ status: 202 }));
  const { body } = await offer.install();
  const install = await market.until(body.install_id, "deprovisioned");
  expect(install.failure_reason).toMatch(/\w/u);
  expect(events(install)).toEqual(["requested", "accepted", "failed"]);
  expect(offer.server.calls).toHaveLength(1);
});

it("a publisher that responds with 202 at last has the whole deadline for its report from then on", async () => {
  const offer = await market.offer((_call, nth) => ({ status: nth > 1 ? 202 : 500 }));
  const { body } = await offer.install();
  const { timeline } = await market.until(body.install_id, "deprovisioned");
  expect(timeline.map(({ event }) => event)).toEqual(["requested", "attempt_failed", "accepted", "failed"]);
  const [accepted, failed] = timeline.slice(-2).map(({ at }) => Date.parse(at));
  expect(Number(failed) - Number(accepted)).toBeGreaterThanOrEqual(3_990);
});

it.each([500, 202])(
  "a deprovisioning whose only responses are %i is forced, with its cloud target, and the timeline shows it",
  async (status) => {
    // A response of 202 is no reason to wait for as long as a provisioning may take.
    const { app, market, close } = await open("1h");
    onTestFinished(close);
    const active = { status: 200, body: { cloud_target: { provider: "aws", region: "eu-1" } } };
    const offer = await market.offer(({ type }) => (type === "install.provisioning" ? active : { status }));
    const single = { token: market.publisher, body: { deployment_modes: ["single_tenant"] } };
    expect((await app.call("PATCH", `/api/marketplace/apps/${offer.appId}`, single)).status).toBe(200);
    const { body } = await offer.install();
    const targets = async (): Promise<string[]> => {
      const listed = await app.call("GET", "/api/admin/cloud-targets?limit=200", { token: market.buyer });
      return (listed.body.data as { install_id: string; status: string }[])
        .filter(({ install_id: id }) => id === body.install_id)
        .map((target) => target.status);
    };
    await market.until(body.install_id, "active");
    expect(await targets()).toEqual(["active"]);
    await app.call("DELETE", `/api/installs/${body.install_id}`, { token: market.buyer });
    const install = await market.until(body.install_id, "deprovisioned");
    expect(events(install).slice(-2)).toEqual(["forced", "deprovisioned"]);
    expect(install.failure_reason).toBeNull();
    expect(await targets()).toEqual(["revoked"]);
  },
);
