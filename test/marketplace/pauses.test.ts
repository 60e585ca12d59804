import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market, Offer } from "../support/market.ts";
import { outcome } from "../support/people.ts";
import { temporalServer } from "../support/temporal.ts";
import { appPath, must } from "./stage.ts";

let app: TestApp;
let market: Market;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,100ms,100ms" },
  });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

const events = (install: { timeline: { event: string }[] }): string[] => install.timeline.map(({ event }) => event);
const types = (offer: Offer): string[] => offer.server.calls.map(({ type }) => type.replace("install.", ""));
const turn = (offer: Offer, installId: string, verb: "suspend" | "resume", token = market.publisher): Promise<Answer> =>
  app.call("POST", appPath(offer.appId, `/installs/${installId}/${verb}`), { token, body: {} });

async function active(answer: Parameters<Market["offer"]>[0]): Promise<{ offer: Offer; installId: string }> {
  const offer = await market.offer(answer);
  const installId = must(await offer.install()).install_id as string;
  await market.until(installId, "active");
  return { offer, installId };
}

describe("suspending and resuming", () => {
  it("suspending and resuming returns the install, notifies the publisher and refuses other transitions", async () => {
    const { offer, installId } = await active(() => ({ status: 200 }));
    expect(outcome(await turn(offer, installId, "resume"))).toBe("409 invalid_transition");
    const before = must(await app.call("GET", `/api/installs/${installId}`, { token: market.buyer }));
    const suspended = await turn(offer, installId, "suspend");
    expect(suspended).toMatchObject({ status: 200, body: { install_id: installId, status: "suspended" } });
    expect(Date.parse(suspended.body.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    expect(outcome(await turn(offer, installId, "suspend"))).toBe("409 invalid_transition");
    await expect.poll(() => types(offer)).toEqual(["provisioning", "suspended"]);
    expect(must(await turn(offer, installId, "resume", market.buyer)).status).toBe("active");
    await expect.poll(() => types(offer)).toEqual(["provisioning", "suspended", "resumed"]);
    expect(events(await market.read(installId))).toEqual(["requested", "active", "suspended", "resumed"]);
    expect(new Set(offer.server.calls.map(({ id }) => id)).size).toBe(3);
    expect(offer.server.forged).toBe(0);
  });

  it("a notice is retried with one id, and the timeline shows when it never arrives", async () => {
    const { offer, installId } = await active(({ type }) => ({ status: type === "install.provisioning" ? 200 : 500 }));
    must(await turn(offer, installId, "suspend"));
    await expect.poll(async () => events(await market.read(installId)).at(-1)).toBe("notice_failed");
    expect(types(offer)).toEqual(["provisioning", "suspended", "suspended", "suspended"]);
    expect(new Set(offer.server.calls.slice(1).map(({ id }) => id)).size).toBe(1);
    expect((await market.read(installId)).status).toBe("suspended");
  });

  it("a notice that a later request replaces is dropped", async () => {
    let up = false;
    const { offer, installId } = await active(({ type }) => ({
      status: type === "install.provisioning" || up ? 200 : 503,
    }));
    must(await turn(offer, installId, "suspend"));
    must(await turn(offer, installId, "resume"));
    must(await turn(offer, installId, "suspend"));
    await expect.poll(() => types(offer).includes("suspended")).toBe(true);
    up = true;
    must(await turn(offer, installId, "resume"));
    await expect.poll(() => types(offer).at(-1)).toBe("resumed");
    expect(events(await market.read(installId))).not.toContain("notice_failed");
  });

  it("a suspended install can be deprovisioned", async () => {
    const { offer, installId } = await active(() => ({ status: 200 }));
    must(await turn(offer, installId, "suspend"));
    must(await app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer }));
    await market.until(installId, "deprovisioned");
    expect(types(offer).at(-1)).toBe("deprovisioning");
    for (const verb of ["suspend", "resume"] as const)
      expect(outcome(await turn(offer, installId, verb))).toBe("409 invalid_transition");
  });
});

it("a rotated webhook secret replaces the old one at once", async () => {
  const offer = await market.offer(({ type }) => ({ status: type === "install.provisioning" ? 202 : 200 }));
  const installId = must(await offer.install()).install_id as string;
  await expect.poll(async () => events(await market.read(installId))).toContain("accepted");
  const rotated = await app.call("POST", appPath(offer.appId, "/webhook/rotate"), {
    token: market.publisher,
    body: {},
  });
  expect(rotated).toMatchObject({
    status: 200,
    body: { app_id: offer.appId, webhook_secret: expect.stringMatching(/^whsec_/u) },
  });
  expect(rotated.headers.get("cache-control")).toBe("no-store");
  const fresh = rotated.body.webhook_secret as string;
  expect(fresh).not.toBe(offer.secret);
  expect(outcome(await offer.report(installId, { status: "active" }))).toBe("401 unauthorized");
  expect((await offer.report(installId, { status: "active" }, { secret: fresh })).status).toBe(200);
  offer.server.useSecret(fresh);
  must(await app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer }));
  await market.until(installId, "deprovisioned");
  expect(offer.server.forged).toBe(0);
});

describe("the cloud target", () => {
  const targetsOf = async (installId: string, query = "?limit=200"): Promise<Record<string, string>[]> =>
    must(await app.call("GET", `/api/admin/cloud-targets${query}`, { token: market.buyer })).data.filter(
      (one: { install_id: string }) => one.install_id === installId,
    );
  const singleTenant = async (cloudTarget: unknown): Promise<{ offer: Offer; installId: string }> => {
    const offer = await market.offer(({ type }) =>
      type === "install.provisioning" ? { status: 200, body: { cloud_target: cloudTarget } } : { status: 200 },
    );
    must(
      await app.call("PATCH", appPath(offer.appId), {
        token: market.publisher,
        body: { deployment_modes: ["single_tenant"] },
      }),
    );
    const installId = must(await offer.install()).install_id as string;
    await market.until(installId, "active");
    return { offer, installId };
  };

  it("the cloud target of a single-tenant install is stored, listed and revoked, which deprovisions the install once", async () => {
    const { installId } = await singleTenant({ provider: "aws", region: "eu-central-1" });
    const [target, ...more] = await targetsOf(installId);
    expect(more).toEqual([]);
    expect(target).toEqual({
      target_id: expect.any(String),
      install_id: installId,
      org_uuid: expect.any(String),
      provider: "aws",
      region: "eu-central-1",
      status: "active",
      created_at: expect.any(String),
    });
    const revoke = (): Promise<Answer> =>
      app.call("POST", `/api/admin/cloud-targets/${target?.["target_id"] ?? ""}/revoke`, {
        token: market.buyer,
        body: {},
      });
    expect(await revoke()).toMatchObject({ status: 200, body: { ...target, status: "revoked" } });
    const ended = await market.until(installId, "deprovisioned");
    expect(ended.timeline.find(({ event }) => event === "deprovisioning")?.detail).toContain("cloud target");
    expect(await revoke()).toMatchObject({ status: 200, body: { status: "revoked" } });
    expect(await market.read(installId)).toEqual(ended);
    const log = `/api/organizations/${target?.["org_uuid"] ?? ""}/audit-events?type=cloud_target.revoked`;
    const events = must(await app.call("GET", log, { token: market.buyer })).data;
    const own = events.filter(
      ({ metadata }: { metadata: { install_id: string } }) => metadata.install_id === installId,
    );
    expect(own).toHaveLength(1);
    expect(await targetsOf(installId, "?status=active&limit=200")).toEqual([]);
    expect(await targetsOf(installId, "?status=revoked&limit=200")).toHaveLength(1);
  });

  it("the cloud target is revoked when the publisher answers that the install is removed", async () => {
    const { installId } = await singleTenant({ provider: "aws", region: "eu-central-1" });
    must(await app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer }));
    await market.until(installId, "deprovisioned");
    expect(await targetsOf(installId)).toMatchObject([{ status: "revoked" }]);
  });

  it.each([
    [null, false],
    ["aws", true],
    [{ provider: "aws" }, true],
    [{ provider: "", region: "x" }, true],
    [{ provider: "a".repeat(65), region: "x" }, true],
    [{ provider: 1, region: "x" }, true],
  ])("no cloud target is stored of %j; the timeline has a note of it: %j", async (target, isNoted) => {
    const { installId } = await singleTenant(target);
    expect(await targetsOf(installId)).toEqual([]);
    const { timeline } = await market.read(installId);
    expect(timeline.at(-1)?.detail?.includes("its cloud_target does not have a provider and a region")).toBe(isNoted);
  });

  it("a multi-tenant install has no cloud target, and revoking an unknown one returns 404", async () => {
    const { installId } = await active(() => ({
      status: 200,
      body: { cloud_target: { provider: "aws", region: "eu-1" } },
    }));
    expect(await targetsOf(installId)).toEqual([]);
    expect(
      outcome(
        await app.call("POST", "/api/admin/cloud-targets/00000000-0000-4000-8000-000000000000/revoke", {
          token: market.buyer,
          body: {},
        }),
      ),
    ).toBe("404 target_not_found");
  });
});

it("thirty parallel installs make one, with one request to the publisher", async () => {
  const offer = await market.offer(() => ({ status: 200 }));
  const answers = await Promise.all(Array.from({ length: 30 }, () => offer.install()));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  expect(new Set(answers.filter(({ status }) => status !== 202).map(outcome))).toEqual(
    new Set(["409 already_installed"]),
  );
  await market.until(answers.find(({ status }) => status === 202)?.body.install_id as string, "active");
  expect(types(offer)).toEqual(["provisioning"]);
});

it("a webhook secret that was rotated by an app id in upper case signs what the publisher receives", async () => {
  const offer = await market.offer(() => ({ status: 200 }));
  const path = appPath(offer.appId.toUpperCase(), "/webhook/rotate");
  const rotated = must(await app.call("POST", path, { token: market.publisher, body: {} }));
  expect(rotated.app_id).toBe(offer.appId);
  offer.server.useSecret(rotated.webhook_secret as string);
  const { install_id: installId } = must(await offer.install());
  await market.until(installId as string, "active");
  expect(offer.server.forged).toBe(0);
});
