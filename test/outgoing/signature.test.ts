import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { newWebhookSecret, signDelivery, verifyDelivery } from "../../src/platform/outgoing/signature.ts";

const random = { bytes: randomBytes };
const secret = newWebhookSecret(random);
const other = newWebhookSecret(random);
const now = Math.floor(Date.now() / 1000);
const body = JSON.stringify({ type: "webhook.test", data: { name: "Größe" } });
const sign = (over: Partial<Parameters<typeof signDelivery>[0]> = {}) =>
  signDelivery({ id: "evt_1", timestamp: now, body, secrets: [secret], ...over });
const verify = (headers: Record<string, string | undefined>, over: object = {}) =>
  verifyDelivery({ headers, body, secrets: [secret], nowSeconds: now, ...over });

test("secrets are whsec_ and base64 of 32 bytes", () => {
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(Buffer.from(secret.slice(6), "base64")).toHaveLength(32);
});

describe("Signatures of our deliveries", () => {
  test("the standardwebhooks library verifies our signatures, also while two secrets are valid", () => {
    for (const secrets of [[secret], [other, secret], [secret, other]]) {
      expect(new Webhook(secret).verify(body, { ...sign({ secrets }) })).toEqual(JSON.parse(body));
    }
    expect(() => new Webhook(other).verify(body, { ...sign() })).toThrow();
  });

  test("we verify signatures of the standardwebhooks library", () => {
    const signature = new Webhook(secret).sign("msg_1", new Date(now * 1000), body);
    expect(verify({ "webhook-id": "msg_1", "webhook-timestamp": String(now), "webhook-signature": signature })).toBe(
      true,
    );
  });

  test("the t=,v1= scheme matches a computation by hand as Stripe documents it", () => {
    const header = sign({ secrets: [other, secret] })["service-signature"];
    const parts = header.split(",").map((part) => part.split("="));
    const t = parts.find(([name]) => name === "t")?.[1];
    const wanted = createHmac("sha256", secret).update(`${t}.${body}`, "utf8").digest("hex");
    expect(t).toBe(String(now));
    expect(parts.filter(([name, value]) => name === "v1" && value === wanted)).toHaveLength(1);
  });

  test("text and its UTF-8 bytes have the same signature", () =>
    expect(sign({ body: Buffer.from(body) })).toEqual(sign()));
});

describe("Verification of deliveries to us", () => {
  const both = sign();
  const standard = {
    "webhook-id": both["webhook-id"],
    "webhook-timestamp": both["webhook-timestamp"],
    "webhook-signature": both["webhook-signature"],
  };
  const service = { "service-signature": both["service-signature"] };
  const wrongStandard = { ...standard, "webhook-signature": sign({ secrets: [other] })["webhook-signature"] };
  const wrongService = { "service-signature": sign({ secrets: [other] })["service-signature"] };

  test("either scheme suffices, and both must verify when both are sent", () => {
    expect(verify({ ...both })).toBe(true);
    expect(verify(standard)).toBe(true);
    expect(verify(service)).toBe(true);
    expect(verify({ ...standard, ...wrongService })).toBe(false);
    expect(verify({ ...wrongStandard, ...service })).toBe(false);
    expect(verify({})).toBe(false);
    expect(verify({ "webhook-id": "evt_1", "webhook-timestamp": String(now) })).toBe(false);
    expect(
      verifyDelivery({
        headers: new Headers({ ...both }),
        body: Buffer.from(body),
        secrets: [secret],
        nowSeconds: now,
      }),
    ).toBe(true);
  });

  test("a timestamp may be off by 300 seconds either way", () => {
    for (const headers of [standard, service]) {
      for (const [offset, fine] of [
        [0, true],
        [300, true],
        [-300, true],
        [301, false],
        [-301, false],
      ] as const) {
        expect(verify(headers, { nowSeconds: now + offset })).toBe(fine);
      }
    }
  });

  test.each<[string, Record<string, string | undefined>]>([
    ["another id", { ...standard, "webhook-id": "evt_2" }],
    ["no id", { ...standard, "webhook-id": undefined }],
    ["another timestamp", { ...standard, "webhook-timestamp": String(now + 1) }],
    ["a timestamp with a fraction", { ...standard, "webhook-timestamp": `${now}.0` }],
    ["a timestamp in another spelling", { ...standard, "webhook-timestamp": `+${now}` }],
    ["version 1a", { ...standard, "webhook-signature": standard["webhook-signature"].replace("v1,", "v1a,") }],
    ["an empty signature", { ...standard, "webhook-signature": "" }],
    ["a cut signature", { ...standard, "webhook-signature": standard["webhook-signature"].slice(0, -2) }],
    ["two t", { "service-signature": `t=${now},${service["service-signature"]}` }],
    ["no t", { "service-signature": service["service-signature"].replace(/^t=\d+,/, "") }],
    ["v0", { "service-signature": service["service-signature"].replace("v1=", "v0=") }],
    ["capitals", { "service-signature": service["service-signature"].toUpperCase() }],
    ["nonsense", { "service-signature": "nonsense" }],
  ])("a delivery with %s is refused", (_, headers) => expect(verify(headers)).toBe(false));

  test("a delivery with another body is refused, and an older secret is accepted while it is valid", () => {
    expect(verify({ ...both }, { body: `${body} ` })).toBe(false);
    expect(verify({ ...both }, { secrets: [other] })).toBe(false);
    expect(verify({ ...both }, { secrets: [other, secret] })).toBe(true);
    expect(verify({ ...both }, { secrets: [] })).toBe(false);
  });
});
