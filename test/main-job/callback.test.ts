import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market, Offer, ReportOptions } from "../support/market.ts";
import { temporalServer } from "../support/temporal.ts";

let app: TestApp;
let market: Market;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,100ms" },
  });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

const events = (install: { timeline: { event: string }[] }): string[] => install.timeline.map(({ event }) => event);

/** An install whose publisher has answered 202. */
async function accepted(): Promise<{ offer: Offer; installId: string }> {
  const offer = await market.offer(() => ({ status: 202 }));
  const { body } = await offer.install();
  const installId = body.install_id as string;
  await expect.poll(async () => events(await market.read(installId))).toContain("accepted");
  return { offer, installId };
}

describe("after a 202 the publisher", () => {
  it("reports that the install is active", async () => {
    const { offer, installId } = await accepted();
    expect((await market.read(installId)).status).toBe("provisioning");
    const answer = await offer.report(installId, {
      status: "active",
      endpoint_url: "https://orbit.example/",
      message: "took a while",
    });
    expect(answer).toMatchObject({
      status: 200,
      body: { install_id: installId, status: "active", endpoint_url: "https://orbit.example/", failure_reason: null },
    });
    expect(events(await market.read(installId))).toEqual(["requested", "accepted", "active"]);
    expect(offer.server.calls).toHaveLength(1);
  });

  it("reports that it failed", async () => {
    const { offer, installId } = await accepted();
    expect(await offer.report(installId, { status: "failed", message: "out of disks" })).toMatchObject({
      status: 200,
      body: { status: "deprovisioned", failure_reason: "out of disks" },
    });
    expect(await offer.report(installId, { status: "failed" })).toMatchObject({ status: 200 });
    expect((await offer.report(installId, { status: "active" })).body).toMatchObject({
      status: 409,
      code: "invalid_transition",
    });
    expect(events(await market.read(installId))).toEqual(["requested", "accepted", "failed"]);
    expect((await offer.install()).status).toBe(202);
  });

  it("a report stores 500 characters of its message, and only an http(s) endpoint URL", async () => {
    const { offer, installId } = await accepted();
    const { body } = await offer.report(installId, { status: "failed", message: "out of disks. ".repeat(40_000) });
    expect(body.failure_reason).toHaveLength(500);
    const other = await accepted();
    expect(
      (
        await other.offer.report(other.installId, {
          status: "active",
          endpoint_url: "javascript:alert(1)",
          message: "done",
        })
      ).body.endpoint_url,
    ).toBeNull();
    expect((await market.read(other.installId)).timeline.at(-1)?.detail).toMatch(
      /^done; its endpoint_url is not an http\(s\) URL/u,
    );
  });

  it("a repeated report changes nothing, and another one is refused", async () => {
    const { offer, installId } = await accepted();
    expect((await offer.report(installId, { status: "active" })).status).toBe(200);
    const before = await market.read(installId);
    expect((await offer.report(installId, { status: "active", endpoint_url: "https://other.example/" })).status).toBe(
      200,
    );
    expect(await market.read(installId)).toEqual(before);
    for (const status of ["failed", "deprovisioned"])
      expect((await offer.report(installId, { status })).body).toMatchObject({
        status: 409,
        code: "invalid_transition",
      });
  });

  it("ten parallel reports count as one", async () => {
    const { offer, installId } = await accepted();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => offer.report(installId, { status: at % 2 === 0 ? "active" : "failed" })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    const { timeline, status } = await market.read(installId);
    expect(timeline).toHaveLength(3);
    expect(answers.filter((answer) => answer.status === 200).map((answer) => answer.body.status as string)).toEqual(
      Array(5).fill(status),
    );
  });
});

it("a report that arrives before the response of 202 counts", async () => {
  let early: Answer | undefined;
  const offer: Offer = await market.offer(async ({ data }) => {
    early = await offer.report(data.install_id, { status: "active", endpoint_url: "https://early.example/" });
    return { status: 202 };
  });
  const { body } = await offer.install();
  await market.until(body.install_id, "active");
  expect(early).toMatchObject({ status: 200, body: { status: "active" } });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await market.read(body.install_id)).toMatchObject({
    status: "active",
    endpoint_url: "https://early.example/",
  });
  expect(offer.server.calls).toHaveLength(1);
});

describe("a signature", () => {
  const without =
    (...names: string[]) =>
    (signed: Record<string, string>) =>
      Object.fromEntries(Object.entries(signed).filter(([name]) => !names.includes(name)));
  const standard = ["webhook-id", "webhook-timestamp", "webhook-signature"];

  it.each<[string, ReportOptions]>([
    ["of Service-Signature alone", { headers: without(...standard) }],
    ["of Standard Webhooks alone", { headers: without("service-signature") }],
    ["299 s old", { skew: -299 }],
  ])("%s is enough", async (_what, options) => {
    const { offer, installId } = await accepted();
    expect((await offer.report(installId, { status: "active" }, options)).status).toBe(200);
  });

  it("that is missing, wrong, old, of another app or install returns one 401 and changes nothing", async () => {
    const { offer, installId } = await accepted();
    const other = await market.offer(() => ({ status: 200 }));
    const spoil = (name: string) => (signed: Record<string, string>) => ({
      ...signed,
      [name]: `${signed[name]?.slice(0, -6) ?? ""}000000`,
    });
    const bad: ReportOptions[] = [
      { headers: () => ({}) },
      { secret: "whsec_AAAA" },
      { secret: other.secret },
      { skew: -301 },
      { skew: 302 },
      { headers: spoil("service-signature") },
      { headers: spoil("webhook-signature") },
      { headers: (signed) => ({ ...signed, "webhook-timestamp": "x" }) },
      { headers: without("webhook-id") },
      { headers: (signed) => ({ ...signed, "webhook-id": "msg_other" }) },
    ];
    const answers = await Promise.all([
      ...bad.map((options) => offer.report(installId, { status: "active" }, options)),
      offer.report(randomUUID(), { status: "active" }),
      offer.report(installId, "{", { secret: other.secret }),
    ]);
    for (const { status, body, headers } of answers) {
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toBe("Bearer");
      expect({ ...body, request_id: "", instance: "" }).toEqual({ ...answers[0]?.body, request_id: "", instance: "" });
    }
    expect(answers[0]?.body.code).toBe("unauthorized");
    expect((await market.read(installId)).status).toBe("provisioning");
  });

  it("the signature of a report is verified before its body is parsed", async () => {
    const { offer, installId } = await accepted();
    for (const [body, code] of [
      ["{", "bad_request"],
      ["[]", "bad_request"],
      ["", "bad_request"],
      ['{"status":"active","status":"failed"}', "bad_request"],
      ['{"status":"done"}', "validation_error"],
      ["{}", "validation_error"],
      ['{"status":7}', "validation_error"],
    ]) {
      expect((await offer.report(installId, body)).body, body).toMatchObject({ status: 400, code });
    }
    // An id that is none names an unknown install.
    expect((await offer.report("nope", { status: "active" })).body).toMatchObject({
      status: 401,
      code: "unauthorized",
    });
    expect((await market.read(installId)).status).toBe("provisioning");
  });
});
