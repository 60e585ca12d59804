import { describe, expect, it } from "vitest";
import { checkSignatures, readHeaders } from "../../src/console/pages/webhooks/signatures.ts";
import { signDelivery } from "../../src/platform/outgoing/signature.ts";

const [old, present] = ["a", "b"].map((byte) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`) as [
  string,
  string,
];
const AT_S = 1_763_884_800;
const body = '{"type":"webhook.test","data":{"name":"Grüße"}}';
const headers = { ...signDelivery({ id: "evt_1", timestamp: AT_S, body, secrets: [present, old] }) };

describe("the check of a signature in the browser", () => {
  const outcomes = async (change: Partial<Parameters<typeof checkSignatures>[0]>, at = AT_S): Promise<string[]> =>
    (await checkSignatures({ secrets: [present], headers, body, ...change }, at * 1000)).map(({ outcome }) => outcome);

  it("accepts by both schemes what the service signs, also with the old secret", async () => {
    expect(await outcomes({})).toEqual(["valid", "valid"]);
    expect(await outcomes({ secrets: [old] })).toEqual(["valid", "valid"]);
    const [{ message } = { message: "" }] = await checkSignatures(
      { secrets: ["whsec_AAAA", old], headers, body },
      AT_S * 1000,
    );
    expect(message).toContain("Signed with secret 2.");
  });

  it("refuses a changed body, another secret and another timestamp", async () => {
    expect(await outcomes({ body: `${body} ` })).toEqual(["wrong", "wrong"]);
    expect(await outcomes({ secrets: [`whsec_${Buffer.alloc(32, "c").toString("base64")}`] })).toEqual([
      "wrong",
      "wrong",
    ]);
    expect(await outcomes({ secrets: ["whsec_%%%"] })).toEqual(["wrong", "wrong"]);
    expect(await outcomes({ secrets: [] })).toEqual(["wrong", "wrong"]);
    expect(await outcomes({ headers: { ...headers, "webhook-timestamp": String(AT_S + 1) } })).toEqual([
      "wrong",
      "valid",
    ]);
  });

  it("names what is missing, and says when a genuine delivery is too old", async () => {
    expect(await outcomes({ headers: {} })).toEqual(["missing", "missing"]);
    expect(await outcomes({ headers: { "webhook-signature": headers["webhook-signature"] } })).toEqual([
      "missing",
      "missing",
    ]);
    const late = await checkSignatures({ secrets: [present], headers, body }, (AT_S + 301) * 1000);
    for (const { outcome, message } of late) {
      expect(outcome).toBe("valid");
      expect(message).toContain("It is 301 s old");
    }
  });

  it("reads headers as they are logged", () => {
    const text = Object.entries(headers).map(([name, value]) => `${name.toUpperCase()}:  ${value}`);
    expect(readHeaders(text.join("\r\n"))).toEqual(headers);
  });
});
