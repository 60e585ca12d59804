import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import type { ProvisionCall } from "../demo/publisher.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { temporalServer } from "../support/temporal.ts";

let app: TestApp;
let market: Market;
beforeAll(async () => {
  const env = { SERVICE_WEBHOOK_SCHEDULE: "0s,100ms", SERVICE_WEBHOOK_TIMEOUT: "600ms" };
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock, env });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

const events = (install: { timeline: { event: string }[] }): string[] => install.timeline.map(({ event }) => event);
const details = (install: { timeline: { detail: string | null }[] }): string =>
  install.timeline.map(({ detail }) => detail ?? "").join("\n");

/** Hours from the time of a message until it expires. */
const hoursToAnswer = ({ timestamp, data }: ProvisionCall): number =>
  (Date.parse(data.expires_at) - Date.parse(timestamp)) / 3_600_000;

describe("what the publisher gets", () => {
  it("the publisher receives the documented request, signed", async () => {
    const offer = await market.offer(() => ({ status: 200 }));
    const { body } = await offer.install();
    const [call, ...more] = await market.until(body.install_id, "active").then(() => offer.server.calls);
    expect(more).toEqual([]);
    expect(offer.server.forged).toBe(0);
    const { body: me } = await app.call("GET", "/api/auth/me", { token: market.buyer });
    expect(call).toEqual({
      type: "install.provisioning",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u) as string,
      id: expect.stringMatching(/^evt_[\w-]+$/u) as string,
      data: {
        install_id: body.install_id,
        app_id: offer.appId,
        slug: offer.slug,
        org: { org_uuid: me.org_uuid, name: "Acme" },
        installed_by: me.user_uuid,
        plan_id: "default",
        quantity: 1,
        deployment_mode: "multi_tenant",
        payment_source: "direct",
        sandbox: false,
        callback_url: `http://atrium.test/api/marketplace/installs/${body.install_id}/provisioning`,
        expires_at: expect.any(String) as string,
      },
    });
    expect(offer.server.calls.map(hoursToAnswer)).toEqual([12]);
  });
});

/** A URL of so many characters. */
const urlOf = (length: number): string => "https://orbit.example/".padEnd(length, "x");

describe("an answer of 200 or 201", () => {
  it.each([
    [
      "with a body",
      { status: 200, body: { endpoint_url: "https://orbit.example/acme", message: "welcome" } },
      "https://orbit.example/acme",
      "welcome",
    ],
    ["without a body", { status: 200 }, null, "200"],
    ["of 201", { status: 201, body: { endpoint_url: "http://orbit.example/" } }, "http://orbit.example/", "201"],
    ["with a broken body", { status: 200, body: '{"endpoint_url":' }, null, "not JSON"],
    ["with a body that is no object", { status: 200, body: "[1]" }, null, "not a JSON object"],
    [
      "with a body that is too long",
      { status: 200, body: `{"endpoint_url":"https://orbit.example/","message":"${"x".repeat(100_000)}"}` },
      null,
      "too long",
    ],
    ["with a URL of another scheme", { status: 200, body: { endpoint_url: "javascript:alert(1)" } }, null, "not kept"],
    ["with the longest URL", { status: 200, body: { endpoint_url: urlOf(2_048) } }, urlOf(2_048), "200"],
    ["with a URL that is too long", { status: 200, body: { endpoint_url: urlOf(2_049) } }, null, "not kept"],
    [
      "with a URL that a parser has to mend",
      { status: 200, body: { endpoint_url: " https:orbit.example\n" } },
      null,
      "not kept",
    ],
    ["with a URL of another type", { status: 200, body: { endpoint_url: 7, message: { a: 1 } } }, null, "not kept"],
  ])("%s makes the install active", async (_what, answer, endpoint, told) => {
    const offer = await market.offer(() => answer);
    const { status, body } = await offer.install();
    expect([status, body.status]).toEqual([202, "provisioning"]);
    const install = await market.until(body.install_id, "active");
    expect(install).toMatchObject({
      endpoint_url: endpoint,
      failure_reason: null,
      current_period_end: null,
      payment_source: "direct",
    });
    expect(events(install)).toEqual(["requested", "active"]);
    expect(details(install)).toContain(told);
    expect(offer.server.calls).toHaveLength(1);
  });
});

describe("a refusal", () => {
  it.each([422, 410])("a response of %i fails the install with the reason, and another can follow", async (status) => {
    const offer = await market.offer((_call, nth) =>
      nth === 1 ? { status, body: { message: "no seats left" } } : { status: 200 },
    );
    const { body } = await offer.install();
    const install = await market.until(body.install_id, "deprovisioned");
    expect(install.failure_reason).toContain("no seats left");
    expect(events(install)).toEqual(["requested", "failed"]);
    expect((await app.call("DELETE", `/api/installs/${body.install_id}`, { token: market.buyer })).body).toMatchObject({
      status: 409,
      code: "invalid_transition",
    });
    const again = await offer.install();
    expect(again.status).toBe(202);
    await market.until(again.body.install_id, "active");
    expect(offer.server.calls.map(({ type }) => type)).toEqual(["install.provisioning", "install.provisioning"]);
  });
});

describe("a publisher in trouble", () => {
  it.each([
    ["500, then 200", (nth: number) => (nth < 3 ? { status: 500, body: "boom" } : { status: 200 })],
    [
      "a redirect, which is not followed, then 200",
      (nth: number) => (nth < 3 ? { status: 302, headers: { location: "http://127.0.0.1:1/" } } : { status: 200 }),
    ],
    ["404 and 204, then 200", (nth: number) => ({ status: [404, 204, 200][nth - 1] ?? 200 })],
    [
      "no answer in time, then 200",
      async (nth: number) =>
        nth < 3
          ? new Promise<{ status: number }>((resolve) => setTimeout(resolve, 900, { status: 200 }))
          : { status: 200 },
    ],
  ])("the request is repeated with one id after %s", async (_what, answer) => {
    const offer = await market.offer((_call, nth) => answer(nth));
    const { body } = await offer.install();
    const install = await market.until(body.install_id, "active");
    expect(events(install)).toEqual(["requested", "attempt_failed", "attempt_failed", "active"]);
    expect(offer.server.calls.map(({ data }) => data.install_id)).toEqual(Array(3).fill(body.install_id));
    expect(new Set(offer.server.calls.map(({ id }) => id)).size).toBe(1);
  });

  it("the publisher receives the deprovisioning when the buyer uninstalls during the provisioning", async () => {
    const offer = await market.offer(({ type }) => ({ status: type === "install.provisioning" ? 500 : 204 }));
    const { body } = await offer.install();
    await expect.poll(() => offer.server.calls.length).toBeGreaterThan(1);
    expect(await app.call("DELETE", `/api/installs/${body.install_id}`, { token: market.buyer })).toMatchObject({
      status: 202,
      body: { status: "deprovisioning" },
    });
    const install = await market.until(body.install_id, "deprovisioned");
    expect(install.failure_reason).toBeNull();
    expect(events(install).slice(-2)).toEqual(["deprovisioning", "deprovisioned"]);
    expect(offer.server.calls.at(-1)?.type).toBe("install.deprovisioning");
  });
});

describe("giving an app back", () => {
  it("uninstalling waits for a publisher that responds with 202, and a second request changes nothing", async () => {
    const offer = await market.offer(({ type }) => ({ status: type === "install.provisioning" ? 200 : 202 }));
    const { body } = await offer.install();
    await market.until(body.install_id, "active");
    expect((await offer.install()).body).toMatchObject({ status: 409, code: "already_installed" });
    for (let time = 0; time < 2; time++)
      expect(await app.call("DELETE", `/api/installs/${body.install_id}`, { token: market.buyer })).toMatchObject({
        status: 202,
        body: { status: "deprovisioning" },
      });
    await expect.poll(async () => events(await market.read(body.install_id))).toContain("accepted");
    expect((await offer.install()).body).toMatchObject({ status: 409, code: "already_installed" });
    for (const status of ["active", "failed"])
      expect((await offer.report(body.install_id, { status })).body).toMatchObject({
        status: 409,
        code: "invalid_transition",
      });
    expect((await offer.report(body.install_id, { status: "deprovisioned" })).status).toBe(200);
    expect((await offer.report(body.install_id, { status: "deprovisioned" })).status).toBe(200);
    expect((await market.read(body.install_id)).status).toBe("deprovisioned");
    expect((await app.call("DELETE", `/api/installs/${body.install_id}`, { token: market.buyer })).body).toMatchObject({
      status: 409,
      code: "invalid_transition",
    });
    expect(offer.server.calls.map(({ type }) => type)).toEqual(["install.provisioning", "install.deprovisioning"]);
    expect((await offer.install()).status).toBe(202);
  });

  it.each([200, 204, 404, 410])("uninstalling is done when the publisher responds with %i", async (status) => {
    const offer = await market.offer(({ type }) => ({ status: type === "install.provisioning" ? 200 : status }));
    const { body } = await offer.install();
    await market.until(body.install_id, "active");
    await app.call("DELETE", `/api/installs/${body.install_id}`, { token: market.buyer });
    await market.until(body.install_id, "deprovisioned");
  });

  it("deprovisioning is retried after an error, with one id that is not the provisioning's", async () => {
    const offer = await market.offer((_call, nth) => ({ status: nth === 1 || nth === 4 ? 200 : 503 }));
    const { body } = await offer.install();
    await market.until(body.install_id, "active");
    await app.call("DELETE", `/api/installs/${body.install_id}`, { token: market.buyer });
    await market.until(body.install_id, "deprovisioned");
    const [first, ...ends] = offer.server.calls.map(({ id }) => id);
    expect(offer.server.calls.slice(1).map(hoursToAnswer)).toEqual([72, 72, 72]);
    expect(ends).toHaveLength(3);
    expect(new Set(ends).size).toBe(1);
    expect(ends).not.toContain(first);
  });
});
