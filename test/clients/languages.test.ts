import { createHmac } from "node:crypto";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyWebhook } from "../../src/clients/typescript/webhooks/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { newWebhookSecret, signDelivery } from "../../src/platform/outgoing/signature.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { randomFrom } from "../support/random-of.ts";
import { languages } from "./driver.ts";
import type { Driver } from "./driver.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import type { Fault } from "./fault.ts";
import { listen } from "./issuer.ts";

const INSTALL = "0b0f6c0e-5a43-4b6e-9d37-5b8c9c0f1a2b";
const [secret, older] = [newWebhookSecret(systemRandom), newWebhookSecret(systemRandom)];
const seconds = (): number => Math.floor(Date.now() / 1_000);

let app: TestApp;
let orgUuid: string;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" }, clock: systemClock });
  token = await app.login();
  orgUuid = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid;
  for (let nth = 0; nth < 7; nth++) {
    const body = { email: `p${nth}@acme.test`, role_id: 3 };
    const made = await app.call("POST", `/api/admin/organizations/${orgUuid}/invitations`, { token, body });
    expect(made.status).toBe(201);
  }
});
afterAll(() => app.close());

/** A delivery, signed by the code that signs those of the service. */
function delivery(event: object, options: { secrets?: string[]; ageSeconds?: number; id?: string } = {}) {
  const { secrets = [secret], ageSeconds = 0, id = "evt_1" } = options;
  const body = JSON.stringify(event);
  return { body, headers: { ...signDelivery({ id, timestamp: seconds() - ageSeconds, body, secrets }) } };
}

for (const language of languages()) {
  describe.skipIf(language.missing !== undefined)(`the client in ${language.name}`, () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await language.start();
    });
    afterAll(() => driver.stop());
    const own = () => ({ url: app.url, token });

    /** Runs an operation behind a proxy with this fault for the first request. */
    async function behind(fault: Fault, op: string, args: object) {
      const proxy = await startFaultProxy(
        app.url,
        randomFrom(() => 0),
      );
      let count = 0;
      proxy.next = () => (count++ === 0 ? fault : "none");
      const outcome = await driver.run(op, { ...args, url: proxy.url, token }).catch((error: unknown) => error);
      await proxy.close();
      return { outcome, count };
    }

    it("logs in, and calls with the token", async () => {
      const { email, password, org } = app.owner;
      const signedIn = await driver.run("login", { url: app.url, email, password, org_name: org });
      expect(await driver.run("me", { url: app.url, token: signedIn.token })).toMatchObject({
        email,
        org_uuid: orgUuid,
      });
      expect(await driver.run("list_users", own())).toEqual({ emails: [email] });
    });

    it("reports the code, status, violations and request id of the service", async () => {
      expect(await driver.fail("list_users", { ...own(), limit: 1_000 })).toMatchObject({
        kind: "call",
        error_code: "validation_error",
        status: 400,
        violations: ["limit"],
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      });
      expect(await driver.fail("me", { url: app.url })).toMatchObject({ error_code: "unauthorized", status: 401 });
      expect(await driver.fail("me", { url: "http://127.0.0.1:1", token, retries: 0 })).toMatchObject({
        error_code: "unavailable",
        status: 0,
      });
    });

    it("leaves white space around a token out, and does not name one that no header can carry", async () => {
      expect(await driver.run("me", { url: app.url, token: `${token}\r\n` })).toMatchObject({ org_uuid: orgUuid });
      const failure = await driver.fail("me", { url: app.url, token: "se\ncret" });
      expect(failure).toEqual({ kind: "other", message: expect.stringContaining("characters that no header") });
      expect(failure.message).not.toContain("cret");
    });

    it("reads every item of a list once", async () => {
      const { ids } = await driver.run("invitations", { ...own(), org_uuid: orgUuid, limit: 3 });
      expect([ids.length, new Set(ids).size]).toEqual([7, 7]);
    });

    it.each(["drop-answer", "truncate", "503"] as const)("creates a key once after the fault %s", async (fault) => {
      const name = `${language.name}-${fault}`;
      const { outcome, count } = await behind(fault, "create_key", { org_uuid: orgUuid, name });
      expect(count).toBe(2);
      const path = `/api/admin/organizations/${orgUuid}/api-keys?limit=100`;
      const keys: { name: string; key_id: string }[] = (await app.call("GET", path, { token })).body.data;
      expect(keys.filter((key) => key.name === name).map((key) => key.key_id)).toEqual([outcome.key_id]);
      expect(await driver.run("me", { url: app.url, token: outcome.secret })).toMatchObject({ principal: "api_key" });
    });

    it("repeats what changes nothing, and sends what may not be repeated once", async () => {
      expect(await behind("drop-answer", "list_users", {})).toMatchObject({
        count: 2,
        outcome: { emails: [app.owner.email] },
      });
      const { outcome, count } = await behind("drop-request", "update_profile", {});
      expect([count, outcome.failure]).toEqual([
        1,
        expect.objectContaining({ kind: "call", error_code: "unavailable" }),
      ]);
    });

    it("takes deliveries of both secrets, and refuses what is old, changed or signed by others", async () => {
      const event = { type: "webhook.test", timestamp: "2026-01-01T00:00:00Z", id: "evt_1", org_uuid: "o", data: {} };
      for (const secrets of [[secret], [older]])
        expect(await driver.run("webhook", { secrets: [secret, older], ...delivery(event, { secrets }) })).toEqual(
          event,
        );
      const refused = [
        delivery(event, { secrets: [older] }),
        delivery(event, { ageSeconds: 301 }),
        // Ahead by a minute more than is allowed, which a slow machine does not use up.
        delivery(event, { ageSeconds: -360 }),
        { ...delivery(event), body: JSON.stringify({ ...event, id: "evt_2" }) },
        { ...delivery(event), headers: {} },
        { ...delivery(event), headers: { ...delivery(event).headers, "webhook-signature": "v1" } },
      ];
      for (const received of refused)
        expect(await driver.fail("webhook", { secrets: [secret], ...received })).toEqual({
          kind: "webhook",
          status: 401,
        });
    });

    it.each([[[]], [[""]], [["whsec_"]], [[secret, ""]]])("fails on the webhook secrets %j", async (secrets) => {
      const event = { type: "install.deprovisioning", data: { install_id: INSTALL } };
      const { body, headers } = delivery(event);
      const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
      const signature = `v1,${createHmac("sha256", "").update(signed).digest("base64")}`;
      const forged = { secrets, body, headers: { ...headers, "webhook-signature": signature } };
      const failure = { kind: "other", message: expect.stringContaining("secret") };
      expect(await driver.fail("webhook", forged)).toMatchObject(failure);
      expect(await driver.fail("webhook", { secrets, body, headers })).toMatchObject(failure);
      const job = { key: `secrets ${secrets.join(",")}`, url: app.url, outcome: "active" };
      expect(await driver.fail("publish", { ...job, ...forged })).toMatchObject(failure);
    });

    it("remembers what a publisher did for a request that ended meanwhile", async () => {
      const message = delivery({ type: "install.provisioning", data: { install_id: INSTALL } }, { id: "msg_1" });
      const job = { key: "gone", secrets: [secret], url: app.url, outcome: "active", ...message };
      expect(await driver.run("publish", { ...job, gone: true })).toMatchObject({ handled: 1 });
      const { answers, handled } = await driver.run("publish", job);
      expect([handled, answers.map(([code]: [number]) => code)]).toEqual([1, [200, 200]]);
    });

    it.each([
      ["active", 200, { endpoint_url: "https://app.test" }],
      ["accepted", 202, undefined],
      ["refused", 422, { message: "No room." }],
    ])(
      "responds as a publisher that answers %s, once for a message that comes twice",
      async (outcome, status, body) => {
        const event = { type: "install.provisioning", data: { install_id: INSTALL } };
        const job = { key: outcome, secrets: [secret], url: app.url, outcome };
        const { answers, handled } = await driver.run("publish", { ...job, ...delivery(event, { id: "msg_1" }) });
        expect(handled).toBe(1);
        for (const [code, sent] of answers)
          expect([code, sent === "" ? undefined : JSON.parse(sent)]).toEqual([status, body]);
        const unsigned = await driver.run("publish", { ...job, ...delivery(event, { secrets: [older] }) });
        expect(unsigned.answers.map(([code]: [number]) => code)).toEqual([401, 401]);
        const later = await driver.run("publish", {
          ...job,
          ...delivery({ ...event, type: "install.moved" }, { id: "msg_2" }),
        });
        expect(later.answers.map(([code]: [number]) => code)).toEqual([200, 200]);
      },
    );

    it("reports the outcome of an install until the service takes it, and the code of a refusal", async () => {
      // A service that restarts: the time to wait grows, up to ten minutes in all.
      const outcomes = [503, 500, 503, 503, 503, 200, 409];
      const received: { url: string; body: string; headers: Headers }[] = [];
      const [url, server] = await listen((request, response) => {
        void text(request).then((body) => {
          const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
          received.push({ url: request.url ?? "", body, headers });
          const status = outcomes.shift() ?? 500;
          response.writeHead(status, { "content-type": "application/json" });
          response.end(JSON.stringify({ code: "invalid_transition", message: "No.", status }));
        });
      });
      const job = { key: "report", secrets: [secret], url, outcome: "active", install_id: INSTALL };
      await driver.run("report", { ...job, status: "active", endpoint_url: "https://app.test" });
      expect(received).toHaveLength(6);
      const { body, headers, url: path } = received[5] ?? { body: "", headers: new Headers(), url: "" };
      expect(path).toBe(`/api/marketplace/installs/${INSTALL}/provisioning`);
      expect(JSON.parse(body)).toEqual({ status: "active", endpoint_url: "https://app.test" });
      expect(() => verifyWebhook({ secrets: secret, body, headers })).not.toThrow();
      expect(await driver.fail("report", { ...job, status: "failed" })).toMatchObject({
        kind: "call",
        error_code: "invalid_transition",
        status: 409,
      });
      server.close();
    });

    it.each([400, 404])("does not repeat a report to which a page of a proxy responds with %i", async (status) => {
      let count = 0;
      const [url, server] = await listen((request, response) => {
        count++;
        request.resume();
        response.writeHead(status, { "content-type": "text/html" }).end("<h1>No.</h1>");
      });
      const job = { key: `page ${status}`, secrets: [secret], url, outcome: "active", install_id: INSTALL };
      expect(await driver.fail("report", { ...job, status: "active" })).toMatchObject({ kind: "call", status: 0 });
      expect(count).toBe(1);
      server.close();
    });
  });
}
