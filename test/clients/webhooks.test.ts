import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPublisher } from "../../src/clients/typescript/publisher/index.ts";
import type { GivenAnswer, Publisher, PublisherOptions } from "../../src/clients/typescript/publisher/index.ts";
import { verifyWebhook, WebhookRefusal } from "../../src/clients/typescript/webhooks/index.ts";
import type { WebhookEvent } from "../../src/clients/typescript/webhooks/index.ts";
import { newWebhookSecret, signDelivery } from "../../src/platform/outgoing/signature.ts";
import { systemRandom } from "../../src/platform/random.ts";

const [secret, older] = [newWebhookSecret(systemRandom), newWebhookSecret(systemRandom)];
const seconds = (): number => Math.floor(Date.now() / 1_000);
const INSTALL = "0b0f6c0e-5a43-4b6e-9d37-5b8c9c0f1a2b";

/** A delivery, signed by the code that signs those of the service. */
function delivery(event: object, options: { secrets?: string[]; ageSeconds?: number; id?: string } = {}) {
  const { secrets = [secret], ageSeconds = 0, id = "evt_1" } = options;
  const body = JSON.stringify(event);
  return { body, headers: { ...signDelivery({ id, timestamp: seconds() - ageSeconds, body, secrets }) } };
}

describe("verifyWebhook", () => {
  const event = { type: "webhook.test", timestamp: "2026-01-01T00:00:00Z", id: "evt_1", org_uuid: "o", data: {} };

  it("verifyWebhook returns the event of a signed delivery, from text, bytes and headers of both kinds", () => {
    const { body, headers } = delivery(event);
    expect(verifyWebhook({ secrets: secret, body, headers })).toEqual(event);
    const bytes = new TextEncoder().encode(body);
    expect(verifyWebhook({ secrets: [secret], body: bytes, headers: new Headers(headers) })).toEqual(event);
    expect(verifyWebhook({ secrets: [secret], body: bytes.buffer, headers })).toEqual(event);
  });

  it("verifyWebhook takes deliveries of both secrets while a secret is rotated", () => {
    for (const secrets of [[secret, older], [older], [secret]]) {
      expect(verifyWebhook({ secrets: [secret, older], ...delivery(event, { secrets }) })).toEqual(event);
    }
    expect(verifyWebhook({ secrets: older, ...delivery(event, { secrets: [secret, older] }) })).toEqual(event);
  });

  it.each([
    ["signed with another secret", () => delivery(event, { secrets: [older] })],
    ["301 seconds old", () => delivery(event, { ageSeconds: 301 })],
    ["301 seconds ahead", () => delivery(event, { ageSeconds: -302 })],
    ["changed", () => ({ ...delivery(event), body: JSON.stringify({ ...event, id: "evt_2" }) })],
    ["without headers", () => ({ ...delivery(event), headers: {} })],
  ])("verifyWebhook refuses a delivery that is %s", (_name, received) => {
    expect(() => verifyWebhook({ secrets: [secret], ...received() })).toThrow(WebhookRefusal);
  });

  it("verifyWebhook refuses a parsed body with a message that says what to pass", () => {
    const { headers } = delivery(event);
    expect(() => verifyWebhook({ secrets: [secret], body: event as never, headers })).toThrow(/raw bytes/u);
  });

  it.each([[[]], [""], ["whsec_"], [["", secret]], [[secret, ""]], [[secret, "whsec_%"]]])(
    "the secrets %j are a mistake of the program, not of who signs",
    (secrets) => {
      expect(() => verifyWebhook({ secrets, ...delivery(event) })).toThrow(TypeError);
      const on = { provision: () => ({ status: "accepted" as const }), deprovision: () => undefined };
      expect(() => createPublisher({ secret: secrets, baseUrl: "http://atrium.test", on })).toThrow(/secret/u);
    },
  );

  it("verifyWebhook takes a secret as it stands in a file, and names of headers as they were sent", () => {
    const { body, headers } = delivery(event);
    const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    expect(verifyWebhook({ secrets: `${secret}\n`, body, headers: sent })).toEqual(event);
  });

  it("an event is typed by its type", () => {
    const received = verifyWebhook({ secrets: secret, ...delivery({ ...event, type: "user.created" }) });
    const email = (typed: WebhookEvent): string | undefined =>
      typed.type === "user.created" ? typed.data.email : undefined;
    expect(email(received)).toBeUndefined();
  });
});

describe("createPublisher", () => {
  const requests: { url: string; body: string; headers: Headers }[] = [];
  const outcomes: number[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      requests.push({ url: request.url ?? "", body: Buffer.concat(chunks).toString(), headers });
      const status = outcomes.shift() ?? 200;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ code: "invalid_transition", message: "No.", status }));
    });
  });
  let baseUrl: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const send = (publisher: Publisher, type: string, id = "msg_1", secrets = [secret]): Promise<Response> => {
    const { body, headers } = delivery({ type, data: { install_id: INSTALL } }, { id, secrets });
    return publisher(new Request("http://publisher.test/", { method: "POST", body, headers }));
  };
  const publisherOf = (on: Partial<PublisherOptions["on"]>): Publisher =>
    createPublisher({
      secret,
      baseUrl,
      on: { provision: () => ({ status: "accepted" }), deprovision: () => undefined, ...on },
    });

  it.each([
    [{ status: "active", endpointUrl: "https://app.test" }, 200, { endpoint_url: "https://app.test" }],
    [{ status: "accepted" }, 202, undefined],
    [{ status: "refused", message: "No room." }, 422, { message: "No room." }],
  ] as const)("a publisher that answers %j responds as the service expects", async (answer, status, body) => {
    const response = await send(publisherOf({ provision: () => answer }), "install.provisioning");
    expect(response.status).toBe(status);
    const text = await response.text();
    expect(text === "" ? undefined : JSON.parse(text)).toEqual(body);
  });

  it("a message that comes again, at once or later, is handled once", async () => {
    let handled = 0;
    const publisher = publisherOf({
      async provision() {
        handled++;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { status: "active" };
      },
    });
    const both = await Promise.all([send(publisher, "install.provisioning"), send(publisher, "install.provisioning")]);
    const later = await send(publisher, "install.provisioning");
    expect([...both, later].map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(handled).toBe(1);
  });

  it("a message that a handler throws at is handled again", async () => {
    let handled = 0;
    const publisher = publisherOf({
      deprovision() {
        if (handled++ === 0) throw new Error("The disk is full.");
        return Promise.resolve();
      },
    });
    await expect(send(publisher, "install.deprovisioning")).rejects.toThrow("disk");
    expect((await send(publisher, "install.deprovisioning")).status).toBe(200);
  });

  it("a message whose memory throws is refused, and handled when it comes again", async () => {
    let [broken, handled] = [true, 0];
    const answers = new Map<string, GivenAnswer>();
    const seen = {
      async get(id: string) {
        if (broken) throw new Error("The database is away.");
        return answers.get(id);
      },
      set: (id: string, answer: GivenAnswer) => void answers.set(id, answer),
    };
    const on = { provision: () => ({ status: "active" as const }), deprovision: () => void handled++ };
    const publisher = createPublisher({ secret, baseUrl, seen, on });
    await expect(send(publisher, "install.deprovisioning")).rejects.toThrow("database");
    broken = false;
    for (let nth = 0; nth < 2; nth++) expect((await send(publisher, "install.deprovisioning")).status).toBe(200);
    expect(handled).toBe(1);
  });

  it("a publisher refuses what is not signed by the service, and ignores types it does not know", async () => {
    const publisher = publisherOf({});
    expect((await send(publisher, "install.provisioning", "msg_1", [older])).status).toBe(401);
    expect((await send(publisher, "install.moved")).status).toBe(200);
  });

  it("a report is signed, and sent again until the service takes it", async () => {
    outcomes.push(503, 500);
    await publisherOf({}).report(INSTALL, { status: "active", endpointUrl: "https://app.test" });
    const [last] = requests.slice(-1);
    expect(last?.url).toBe(`/api/marketplace/installs/${INSTALL}/provisioning`);
    expect(JSON.parse(last?.body ?? "")).toEqual({ status: "active", endpoint_url: "https://app.test" });
    expect(() =>
      verifyWebhook({ secrets: secret, body: last?.body ?? "", headers: last?.headers ?? {} }),
    ).not.toThrow();
  });

  it("a report is sent again while the service is away for some seconds, and after a time-out", async () => {
    outcomes.push(503, 503, 503, 503, 503);
    await publisherOf({}).report(INSTALL, { status: "failed" });
    expect(outcomes).toEqual([]);
    let asked = 0;
    const fetch: typeof globalThis.fetch = async () => {
      if (asked++ === 0) throw new DOMException("The operation was aborted due to timeout", "TimeoutError");
      return new Response("{}");
    };
    const on = { provision: () => ({ status: "accepted" }) as const, deprovision: () => undefined };
    await createPublisher({ secret, baseUrl, on, fetch }).report(INSTALL, { status: "failed" });
    expect(asked).toBe(2);
  });

  it("a report that the service refuses rejects with its code", async () => {
    outcomes.push(409);
    await expect(publisherOf({}).report(INSTALL, { status: "failed" })).rejects.toMatchObject({
      errorCode: "invalid_transition",
      status: 409,
    });
  });
});
