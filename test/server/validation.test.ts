import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { compileValidator } from "../../src/platform/validation.ts";
import { isEmail, isHttpUrl, isTimestamp, isUuid } from "../../src/platform/value-rules.ts";
import { messageType } from "./contract.ts";

const desc = messageType("CreateRequest");
const validate = compileValidator(desc);

function faults(init: Record<string, unknown>): string[] {
  return (validate?.(create(desc, init as never)) ?? []).map(({ field, code }) => `${field} ${code}`);
}

test.each<[Record<string, unknown>, string[]]>([
  [{ name: "abc" }, []],
  [{}, ["name required"]],
  [{ name: "a" }, ["name too_short"]],
  [{ name: "a".repeat(11) }, ["name too_long"]],
  [{ name: "😀".repeat(10) }, []],
  [{ name: "😀".repeat(11) }, ["name too_long"]],
  [{ name: "abc", seats: 0 }, ["seats too_small"]],
  [{ name: "abc", seats: 11 }, ["seats too_large"]],
  [{ name: "abc", seats: 10 }, []],
  [{ name: "abc", kind: "green" }, ["kind not_allowed"]],
  [{ name: "abc", kind: "red" }, []],
  [{ name: "abc", emails: [{ value: "a@b.co" }, {}] }, ["emails[1].value required"]],
  [{ name: "abc", emails: [{ value: "a" }, { value: "a@b.co" }] }, ["emails[0].value format"]],
  [{ name: "abc", emails: [{}, {}, {}] }, ["emails too_many"]],
])("the message %j has exactly its violations", (init, expected) => {
  expect(faults(init)).toEqual(expected);
});

test("fields that are named apart are not validated, and a message without rules needs no validator", () => {
  expect(compileValidator(desc, new Set(["name"]))?.(create(desc, {}))).toBeUndefined();
  expect(compileValidator(messageType("HelloResponse"))).toBeUndefined();
});

describe("Formats", () => {
  test.each([
    ["a@b.co", true],
    ["  a@b.co ", true],
    ["a@bücher.example", true],
    ["jörg@b.co", false],
    ["a.b+c@x.test", true],
    ["a@localhost", true],
    ["a", false],
    ["@b.co", false],
    ["a@", false],
    ["a@@b.co", false],
    ["a b@c.de", false],
    [".a@b.co", false],
    ["a@b..co", false],
    ["a@-b.co", false],
    ["a@[1.2.3.4]", false],
    ["a@1.2.3.4", false],
    [`${"a".repeat(65)}@b.co`, false],
    [`a@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.${"e".repeat(60)}.${"f".repeat(20)}`, false],
    ["a@b.co\r\nBcc: c@d.e", false],
    ["<a@b.co>", false],
  ])("the email %j is %s", (value, expected) => expect(isEmail(value)).toBe(expected));

  test.each([
    ["https://a.test/x?y#z", true],
    ["http://localhost:1", true],
    ["HTTPS://A.test", true],
    ["https://a:b@c.test", false],
    ["ftp://a.test", false],
    ["https:a.test", false],
    ["//a.test", false],
    ["https://", false],
    ["https://a b.test", false],
    ["javascript:alert(1)", false],
    [`https://a.test/${"x".repeat(2048)}`, false],
  ])("the URL %j is %s", (value, expected) => expect(isHttpUrl(value)).toBe(expected));

  test.each([
    ["2026-02-28", true],
    ["2026-01-01T00:00:00.123456789+05:30", true],
    ["2026-01-01t00:00:00z", true],
    ["0001-01-01", true],
    ["9999-12-31T23:59:59.999Z", true],
    ["2016-12-31T23:59:60Z", false],
    ["0000-12-31", false],
    ["0001-01-01T00:00:00+00:01", false],
    ["9999-12-31T23:59:59-00:01", false],
    ["2026-02-29", false],
    ["2026-13-01", false],
    ["2026-01-00", false],
    ["2026-01-01T24:00:00Z", false],
    ["2026-01-01T00:00:00", false],
    ["now", false],
  ])("the timestamp %j is %s", (value, expected) => expect(isTimestamp(value)).toBe(expected));

  test("UUIDs are accepted in either letter case and in the hyphenated form alone", () => {
    expect(
      [
        "0b8f6a9e-1f5a-4c8e-9a53-0d2f6c1b7a01",
        "0B8F6A9E-1F5A-4C8E-9A53-0D2F6C1B7A01",
        "0b8f6a9e1f5a4c8e9a530d2f6c1b7a01",
        "{0b8f6a9e-1f5a-4c8e-9a53-0d2f6c1b7a01}",
      ].map(isUuid),
    ).toEqual([true, true, false, false]);
  });
});
