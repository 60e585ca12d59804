import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiKey, AtriumError, createAtrium, isAtriumError, paginate } from "../../src/clients/typescript/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { clientOf, signedIn } from "./support.ts";

let app: TestApp;
let orgUuid: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" } });
  const { atrium } = await signedIn(app);
  orgUuid = (await atrium.access.getMe({})).orgUuid ?? "";
});
afterAll(() => app.close());

const lost = (): never => {
  throw new TypeError("fetch failed");
};
const busy = (retryAfter: string, status = 429, contentType = "application/json") =>
  new Response(JSON.stringify({ code: status === 429 ? "resource_exhausted" : "unavailable" }), {
    status,
    headers: { "content-type": contentType, "retry-after": retryAfter },
  });

describe("retries", () => {
  it("a key whose answer is lost is created once", async () => {
    const { atrium, network } = await signedIn(app);
    const before = (await atrium.credentials.listApiKeys({ orgUuid })).data.length;
    network.after = (rpc, response) => (rpc === "CreateApiKey" && network.count(rpc) === 1 ? lost() : response);
    const { apiKey } = await atrium.credentials.createApiKey({ orgUuid, name: "lost", scopes: ["read:users"] });
    expect(apiKey).not.toBe("");
    expect(network.count("CreateApiKey")).toBe(2);
    expect((await atrium.credentials.listApiKeys({ orgUuid })).data.length).toBe(before + 1);
  });

  it("a call that may not be repeated is sent once", async () => {
    const { atrium, network } = await signedIn(app);
    network.before = (rpc) => (rpc === "UpdateProfile" ? lost() : undefined);
    await expect(atrium.users.updateProfile({ firstName: "Ada" })).rejects.toBeInstanceOf(AtriumError);
    expect(network.count("UpdateProfile")).toBe(1);
  });

  it.each([
    ["1", "application/json", 1_000],
    ["1", "text/html", 1_000],
    [new Date(Date.now() + 86_400_000).toUTCString(), "application/json", undefined],
    ["31", "application/json", undefined],
    ["31", "text/html", undefined],
  ])("a call waits as Retry-After: %s of an answer in %s says", async (value, contentType, atLeastMs) => {
    const { atrium, network } = await signedIn(app);
    network.before = (rpc) => (rpc === "GetMe" && network.count(rpc) === 1 ? busy(value, 429, contentType) : undefined);
    const start = performance.now();
    const call = atrium.access.getMe({});
    if (atLeastMs === undefined) {
      const errorCode = contentType === "text/html" ? "unavailable" : "rate_limited";
      await expect(call).rejects.toMatchObject({ errorCode });
      expect(network.count("GetMe")).toBe(1);
    } else {
      await call;
      expect(performance.now() - start).toBeGreaterThanOrEqual(atLeastMs);
    }
  });

  it.each(["", "-5", "soon", "1e9", "0x10"])("Retry-After: %j counts as absent", async (value) => {
    const { atrium, network } = await signedIn(app);
    network.before = (rpc) => (rpc === "GetMe" && network.count(rpc) === 1 ? busy(value, 503) : undefined);
    await expect(atrium.access.getMe({})).resolves.toBeDefined();
    expect(network.count("GetMe")).toBe(2);
  });

  it("a call that is repeated ends at its deadline", async () => {
    const { atrium, network } = await signedIn(app, {}, { retries: 100_000 });
    network.before = (rpc) => (rpc === "GetMe" ? lost() : undefined);
    await expect(atrium.access.getMe({}, { timeoutMs: 300 })).rejects.toBeInstanceOf(AtriumError);
    // Without the deadline it would be repeated for hours.
    expect(network.count("GetMe")).toBeLessThan(1_000);
  });

  it.each([0, -1, Infinity, 2 ** 31, 20_000.5])("calls and streams reach the service with timeoutMs %s", async (ms) => {
    const { atrium } = await signedIn(app, {}, { timeoutMs: ms });
    await expect(atrium.access.getMe({})).resolves.toBeDefined();
    await expect(atrium.access.getMe({}, { timeoutMs: ms })).resolves.toBeDefined();
    const watched = atrium.webhooks.watchDeliveries({ webhookId: randomUUID() }, { timeoutMs: ms });
    await expect(watched[Symbol.asyncIterator]().next()).rejects.toMatchObject({ errorCode: "not_found" });
  });
});

describe("errors", () => {
  it("an error has the code, status, violations and request id of the service", async () => {
    const { atrium } = await signedIn(app);
    const error: unknown = await atrium.users.listUsers({ limit: 1_000 }).catch((reason: unknown) => reason);
    expect(isAtriumError(error, "validation_error")).toBe(true);
    expect(error).toMatchObject({ status: 400, violations: [{ field: "limit" }] });
    expect((error as AtriumError).requestId).toMatch(/^[0-9a-f-]{36}$/u);
    expect(isAtriumError(error, "not_found")).toBe(false);
  });
});

describe("step-up", () => {
  it("a service that is not reached, and an answer that does not arrive whole, are unavailable", async () => {
    const nobody = createAtrium({ baseUrl: "http://127.0.0.1:9", retries: 0 });
    await expect(nobody.access.getMe({})).rejects.toMatchObject({ errorCode: "unavailable", status: 0 });
    const cut = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/proto", "content-length": "9" });
      response.write("\n", () => response.destroy());
    });
    await new Promise<void>((resolve) => cut.listen(0, "127.0.0.1", resolve));
    const { port } = cut.address() as AddressInfo;
    const partly = createAtrium({ baseUrl: `http://127.0.0.1:${port}`, retries: 0 });
    await expect(partly.access.getMe({})).rejects.toMatchObject({ errorCode: "unavailable", status: 0 });
    cut.close();
  });

  it("onStepUp runs once for calls that need it together, and the elevated token is used again", async () => {
    let asked = 0;
    const { atrium, network } = await signedIn(
      app,
      {},
      {
        async onStepUp() {
          asked++;
          const { challengeId } = await atrium.stepUp.createChallenge({ method: "password" });
          return atrium.stepUp.verifyChallenge({ challengeId, password: app.owner.password });
        },
      },
    );
    const rotate = () => atrium.signingKeys.rotateSigningKey({ orgUuid }).catch((error: unknown) => error);
    await Promise.all([rotate(), rotate()]);
    expect(asked).toBe(1);
    const before = network.count("RotateSigningKey");
    await rotate();
    expect([asked, network.count("RotateSigningKey") - before]).toEqual([1, 1]);
  });

  it("a step-up that the person cancels leaves the refusal", async () => {
    const { atrium } = await signedIn(app, {}, { onStepUp: async () => undefined });
    await expect(atrium.signingKeys.rotateSigningKey({ orgUuid })).rejects.toMatchObject({
      errorCode: "step_up_required",
      status: 403,
    });
  });
});

describe("paginate", () => {
  it("paginate reads every item once, in pages as large as the list allows", async () => {
    const { atrium, network } = await signedIn(app);
    for (let nth = 0; nth < 7; nth++)
      await atrium.users.createInvitation({ orgUuid, email: `p${nth}@acme.test`, roleId: 3 });
    const request = { orgUuid, limit: 3 };
    const ids = (await paginate(atrium.users.listInvitations, request).toArray()).map((item) => item.invitationId);
    expect([ids.length, new Set(ids).size]).toEqual([7, 7]);
    expect(network.count("ListInvitations")).toBe(3);
    expect(await paginate(atrium.users.listInvitations, { orgUuid }).toArray({ max: 4 })).toHaveLength(4);
    expect(network.count("ListInvitations")).toBe(4);
  });
});

describe("clients", () => {
  it("white space around a token is left out, and an error does not name one that no header can carry", async () => {
    const token = await app.login();
    const read = (secret: string) => clientOf(app, { credential: apiKey(secret) }).atrium.access.getMe({});
    await expect(read(`${token}\r\n`)).resolves.toBeDefined();
    const error: unknown = await read("se\ncret").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toContain("cret");
  });

  it("a call without credential that needs one is refused as the service refuses it", async () => {
    const { atrium } = clientOf(app);
    await expect(atrium.users.listUsers({})).rejects.toMatchObject({ errorCode: "unauthorized" });
  });
});
