import { getOption, ScalarType } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { Format, rules } from "../../gen/atrium/options/v1/options_pb.ts";
import type { Chance } from "./chance.ts";

/** Ids and names that exist in the service under test, so that some requests reach the domain code. */
export interface Known {
  ids: readonly string[];
  emails: readonly string[];
  words: readonly string[];
}

/** JSON as text, so that duplicate members and numbers out of every range can be sent too. */
type Json = string;

const quote = (text: string): Json => JSON.stringify(text);
const hostileTexts = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\r\nX-Injected: 1",
  "'; drop table people; --",
  "%00",
  "../../etc/passwd",
  "{{7*7}}",
  "${jndi:ldap://x}",
  "<script>alert(1)</script>",
  "🦊".repeat(50),
  "é",
  "ﬃ",
  "\u202eabc",
  "\ufeff",
  "null",
  "undefined",
  "NaN",
  "-1",
  "0",
  "1e999",
  "true",
  "x".repeat(300),
  "y".repeat(70_000),
  "a,b",
  "a@b",
  "@",
  "http://",
  "javascript:alert(1)",
  "2020-13-45T99:99:99Z",
  "*",
  "%",
  "_",
  "\\",
];
const hostileJson: readonly Json[] = [
  "null",
  "true",
  "false",
  "0",
  "-1",
  "1.5",
  "1e400",
  "-1e400",
  "1e-400",
  "9007199254740993",
  "4294967296",
  "-2147483649",
  "123456789012345678901234567890",
  "[]",
  "{}",
  "[[]]",
  "[null]",
  '{"a":{"b":{"c":[]}}}',
  '""',
  '"\\ud800"',
  '"\\udc00x"',
  '"\\u0000"',
  "[1,2,3]",
  '["a","a"]',
  '{"":""}',
  '{"__proto__":{"x":1}}',
  '{"constructor":{}}',
  "NaN",
  "Infinity",
  "01",
  "+1",
  ".5",
  "'x'",
  "undefined",
  "tru",
  `[${"0,".repeat(5_000)}0]`,
];

/** The value of a text field: mostly a valid one. */
function text(chance: Chance, field: DescField, known: Known): string {
  const rule = getOption(field, rules);
  if (chance.sometimes(0.15)) return chance.pick(hostileTexts);
  if (rule.in.length > 0) return chance.pick(rule.in);
  switch (rule.format) {
    case Format.UUID:
      return chance.pick(known.ids);
    case Format.EMAIL:
      return chance.pick(known.emails);
    case Format.HTTP_URL:
      return chance.pick([
        "https://example.test/x",
        "https://example.test/y",
        "http://127.0.0.1:9/",
        "http://10.0.0.1/",
        "http://[::1]/",
      ]);
    case Format.E164:
      return "+491701234567";
    case Format.IP:
      return chance.pick(["192.0.2.1", "2001:db8::1"]);
    case Format.TIMESTAMP:
      return chance.pick(["2026-01-01", "2026-01-01T00:00:00Z"]);
    default:
      return chance.sometimes(0.4)
        ? `w${chance.below(1_000_000)}`
        : chance.pick([...known.words, ...known.ids, ...known.emails]);
  }
}

function scalar(chance: Chance, field: DescField, type: ScalarType, known: Known): Json {
  switch (type) {
    case ScalarType.STRING:
      return quote(text(chance, field, known));
    case ScalarType.BYTES:
      return quote(chance.pick(["", "AAAA", "AA==", "!!!!", "A"]));
    case ScalarType.BOOL:
      return chance.pick(["true", "false"]);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return chance.pick(["0", "1.5", "-1", "1e300", '"NaN"', '"1.5"']);
    default:
      return chance.pick(["0", "1", "2", "50", "4294967295", '"7"', "1.0", "1e2"]);
  }
}

function single(chance: Chance, field: DescField, known: Known, depth: number): Json {
  if (field.message !== undefined)
    return field.message.typeName.startsWith("google.protobuf.")
      ? chance.pick(hostileJson)
      : message(chance, field.message, known, depth + 1);
  if (field.enum !== undefined) return chance.pick(["0", "1", '"X"', "99"]);
  return scalar(chance, field, field.scalar ?? ScalarType.STRING, known);
}

function value(chance: Chance, field: DescField, known: Known, depth: number): Json {
  if (chance.sometimes(0.12)) return chance.pick(hostileJson);
  if (field.fieldKind === "map") return chance.pick(["{}", '{"k":"v"}', '{"k":1}', '{"k":null}']);
  if (field.fieldKind !== "list") return single(chance, field, known, depth);
  return `[${Array.from({ length: chance.below(4) }, () => single(chance, field, known, depth)).join(",")}]`;
}

/** A message as JSON: most fields, some missing, some invalid, some duplicate, some unknown. */
function message(chance: Chance, desc: DescMessage, known: Known, depth = 0): Json {
  if (depth > 4) return "{}";
  const members = desc.fields
    .filter(() => chance.sometimes(0.85))
    .map(
      (field) => `${quote(chance.sometimes(0.85) ? field.name : field.jsonName)}:${value(chance, field, known, depth)}`,
    );
  if (chance.sometimes(0.1))
    members.push(
      `${quote(chance.pick(["extra", "", "__proto__", "constructor", "toString", "🦊"]))}:${chance.pick(hostileJson)}`,
    );
  if (chance.sometimes(0.04) && members[0] !== undefined) members.push(members[0]);
  return `{${members.join(",")}}`;
}

/** A whole body: a message, or something else. */
export function body(chance: Chance, desc: DescMessage, known: Known): Json {
  const whole = message(chance, desc, known);
  if (chance.sometimes(0.9)) return whole;
  return chance.pick([
    whole.slice(0, chance.below(whole.length)),
    `${whole}${whole}`,
    chance.pick(hostileJson),
    "[".repeat(chance.below(60)),
    `${'{"a":'.repeat(40)}1${"}".repeat(40)}`,
    "\u0000",
    "",
    `\ufeff${whole}`,
    `// x\n${whole}`,
  ]);
}

/** A value for a path parameter or a query. */
export function plain(chance: Chance, field: DescField | undefined, known: Known): string {
  if (chance.sometimes(0.15) || field === undefined) return chance.pick(hostileTexts).slice(0, 400);
  if (field.scalar === ScalarType.STRING) return text(chance, field, known).slice(0, 400);
  return chance.pick(["0", "1", "50", "201", "-1", "x", "4294967296", "1e3", "true", ""]);
}
