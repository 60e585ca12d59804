import { describe, expect, test } from "vitest";
import { parseEmail } from "../../src/platform/email.ts";
import { clientAddress, limitKey, parseTrustedProxies } from "../../src/platform/outgoing/address.ts";

const proxies = parseTrustedProxies(["10.0.0.0/8", "192.0.2.7", "2001:db8:ffff::/48"]);

describe("Client addresses", () => {
  test.each<[string, string, string | undefined, string]>([
    ["no header", "203.0.113.9", undefined, "203.0.113.9"],
    ["a stranger's header", "203.0.113.9", "1.2.3.4", "203.0.113.9"],
    ["one proxy", "10.0.0.1", "1.2.3.4", "1.2.3.4"],
    ["two proxies", "10.0.0.1", "1.2.3.4, 192.0.2.7", "1.2.3.4"],
    ["a client's own lie stays left of it", "10.0.0.1", "9.9.9.9, 1.2.3.4, 10.0.0.2", "1.2.3.4"],
    ["nothing but proxies", "10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"],
    ["empty header", "10.0.0.1", "", "10.0.0.1"],
    ["garbage nearest", "10.0.0.1", "1.2.3.4, unknown", "10.0.0.1"],
    ["garbage behind a proxy", "10.0.0.1", "1.2.3.4, what, 10.0.0.2", "10.0.0.2"],
    ["loose spelling", "10.0.0.1", "127.1", "10.0.0.1"],
    ["octal spelling", "10.0.0.1", "010.0.0.1", "10.0.0.1"],
    ["port", "10.0.0.1", "1.2.3.4:80", "10.0.0.1"],
    ["mapped socket", "::ffff:10.0.0.1", "::ffff:1.2.3.4", "1.2.3.4"],
    ["mapped in hex", "::ffff:cb00:7109", undefined, "203.0.113.9"],
    ["not mapped, only alike", "::127.0.0.1", undefined, "::7f00:1"],
    ["IPv6", "2001:db8:ffff::1", "2A00:1450:0:0:0:0:0:1", "2a00:1450::1"],
    ["IPv6 zone", "fe80::1%eth0", undefined, "fe80::1"],
  ])("the client address follows trusted proxies only: %s", (_, socket, header, expected) =>
    expect(clientAddress(socket, header, proxies)).toBe(expected),
  );

  test("a header does not change the client address without trusted proxies", () =>
    expect(clientAddress("10.0.0.1", "1.2.3.4", [])).toBe("10.0.0.1"));

  test.each(["", "x", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/8/8", "127.1", "2001:db8::/129", "localhost"])(
    "%j is rejected as a trusted proxy",
    (entry) => {
      expect(() => parseTrustedProxies([entry])).toThrow(RangeError);
    },
  );

  test("rate limits count IPv4 addresses whole and IPv6 addresses by /64", () => {
    expect(limitKey("1.2.3.4")).toBe("1.2.3.4");
    expect(limitKey("2001:db8:1:2:3:4:5:6")).toBe(limitKey("2001:db8:1:2::9"));
    expect(limitKey("2001:db8:1:2::1")).toBe("2001:db8:1:2::/64");
    expect(limitKey("2001:db8:1:3::1")).not.toBe(limitKey("2001:db8:1:2::1"));
    expect(limitKey("::1")).toBe("0:0:0:0::/64");
  });
});

describe("Email addresses", () => {
  test.each([
    ["jo@acme.test", "jo@acme.test", "jo@acme.test"],
    ["  Jo.Public+x@ACME.Test ", "Jo.Public+x@acme.test", "jo.public+x@acme.test"],
    ["jo@münchen.example", "jo@xn--mnchen-3ya.example", "jo@xn--mnchen-3ya.example"],
    ["o'hara_1@a-b.example", "o'hara_1@a-b.example", "o'hara_1@a-b.example"],
    [`${"a".repeat(64)}@acme.test`, `${"a".repeat(64)}@acme.test`, `${"a".repeat(64)}@acme.test`],
  ])("%s is a valid email address", (given, address, key) =>
    expect(parseEmail(given)).toMatchObject({ address, key, domain: address.split("@")[1] }),
  );

  test.each([
    "",
    " ",
    "jo",
    "@acme.test",
    "jo@",
    "jo@@acme.test",
    "a@b@acme.test",
    "a@acme.test,b@acme.test",
    "a@acme.test;b@acme.test",
    "a@acme.test b@acme.test",
    "Jo <jo@acme.test>",
    "<jo@acme.test>",
    "jo@acme.test\r\nBcc: x@evil.test",
    "jo\r\n@acme.test",
    "jo@acme.test\nx",
    '"jo"@acme.test',
    "jo(x)@acme.test",
    "jo@[127.0.0.1]",
    "jo@127.0.0.1",
    "jo@0x7f.1",
    ".jo@acme.test",
    "jo.@acme.test",
    "j..o@acme.test",
    "jo@acme..test",
    "jo@.acme.test",
    "jo@acme.test.",
    "jo@-acme.test",
    "jo@acme-.test",
    "jo@ac_me.test",
    "jo@acme.test/x",
    "jo@acme.test?x",
    "jo@acme.test#x",
    "jo@%61cme.test",
    "jo@acme.test:25",
    "jo@ac me.test",
    "<b>jo</b>@acme.test",
    "jo\u0000@acme.test",
    "\u212Ajo@acme.test",
    "jö@acme.test",
    `${"a".repeat(65)}@acme.test`,
    `jo@${"a".repeat(64)}.test`,
    `jo@${"a.".repeat(130)}test`,
    `${"a".repeat(10_000)}@acme.test`,
  ])("%j is not a valid email address", (given) => expect(parseEmail(given)).toBeUndefined());
});
