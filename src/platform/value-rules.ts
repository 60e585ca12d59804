import { isPrintable } from "./iso-time.ts";
import { isIP } from "node:net";
import type { DescField } from "@bufbuild/protobuf";
import { Format } from "../../gen/atrium/options/v1/options_pb.ts";
import type { Rules } from "../../gen/atrium/options/v1/options_pb.ts";
import { parseEmail } from "./email.ts";
import type { FieldViolation } from "./errors.ts";
import { isBlank } from "./names.ts";

/** What is wrong with a value, without the field's name. */
export type Fault = Omit<FieldViolation, "field">;
/** Checks one value; undefined when it is valid. */
export type ValueCheck = (value: unknown) => Fault | undefined;

/** Compiles the rules of a scalar: a string, bytes, a number, or an item of a list of them. */
export function compileValue(field: DescField, rules: Rules): ValueCheck | undefined {
  const checks: ValueCheck[] = [];
  if (rules.minLen > 0 || rules.maxLen > 0) checks.push(length(rules.minLen, rules.maxLen));
  if (rules.min !== undefined || rules.max !== undefined) checks.push(range(rules.min, rules.max));
  if (rules.in.length > 0) checks.push(oneOf(rules.in));
  if (rules.pattern !== "") checks.push(pattern(field, rules.pattern));
  if (rules.format !== Format.UNSPECIFIED) checks.push(format(rules.format));
  const [first, ...rest] = checks;
  if (first === undefined || rest.length === 0) return first;
  return (value) => {
    for (const check of checks) {
      const fault = check(value);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

/** True for the text form of RFC 9562, in either case, of any version. */
export function isUuid(value: string): boolean {
  return value.length === 36 && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(value);
}

/** True for one mailbox address (dot-atom, at most 254 octets), ignoring outer white space (decisions 1.12). */
export function isEmail(value: string): boolean {
  return parseEmail(value) !== undefined;
}

/** True for an absolute http or https URL without credentials, at most 2,048 characters. */
export function isHttpUrl(value: string): boolean {
  if (value.length > 2048 || !/^https?:\/\/[^\s\\]+$/i.test(value)) return false;
  const url = URL.parse(value);
  return url !== null && url.hostname !== "" && url.username === "" && url.password === "";
}

const time = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?`;
const zone = String.raw`(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)`;
const timestampForm = new RegExp(String.raw`^(\d{4})-(\d{2})-(\d{2})(?:[Tt]${time}${zone})?$`);

/**
 * True for an RFC 3339 date-time or full-date that exists in the calendar and that a `Date` and responses can hold: no
 * leap second, and in UTC in the years 1 to 9999.
 */
export function isTimestamp(value: string): boolean {
  const parts = timestampForm.exec(value);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= days && isPrintable(Date.parse(value.toUpperCase()));
}

const formats: Partial<Record<Format, readonly [test: (value: string) => boolean, message: string]>> = {
  [Format.UUID]: [isUuid, "must be a UUID"],
  [Format.EMAIL]: [isEmail, "must be an email address"],
  [Format.HTTP_URL]: [isHttpUrl, "must be an absolute http or https URL without credentials, at most 2,048 characters"],
  [Format.E164]: [
    (value) => /^\+[1-9]\d{1,14}$/.test(value),
    "must be a telephone number in E.164 form, such as +14155550123",
  ],
  [Format.IP]: [(value) => isIP(value) !== 0 && !value.includes("%"), "must be an IPv4 or IPv6 address"],
  [Format.TIMESTAMP]: [isTimestamp, "must be an RFC 3339 timestamp or date"],
  [Format.NAME]: [(value) => !isBlank(value), "must not be blank"],
};

function format(which: Format): ValueCheck {
  const known = formats[which];
  if (known === undefined) throw new Error(`rules: format ${which} is not known`);
  const [test, message] = known;
  const fault: Fault = { code: "format", message };
  // Fields without presence are not checked when they are empty. An empty text may mean "none" to the use case; an id
  // is never empty.
  const mayBeEmpty = which !== Format.UUID;
  return (value) => ((mayBeEmpty && value === "") || test(value as string) ? undefined : fault);
}

function length(min: number, max: number): ValueCheck {
  return (value) => {
    const count = typeof value === "string" ? codePoints(value, max) : (value as Uint8Array).length;
    const unit = typeof value === "string" ? "characters" : "bytes";
    if (count < min) return { code: "too_short", message: `must have at least ${min} ${unit}` };
    if (max > 0 && count > max) return { code: "too_long", message: `must have at most ${max} ${unit}` };
    return undefined;
  };
}

/** Code points of a string; for text far over `max`, its length in UTF-16 units. */
function codePoints(value: string, max: number): number {
  if (max > 0 && value.length > 2 * max) return value.length;
  let count = value.length;
  for (let at = 0; at < value.length; at++) if ((value.charCodeAt(at) & 0xfc00) === 0xdc00) count--;
  return count;
}

function range(min: number | undefined, max: number | undefined): ValueCheck {
  return (value) => {
    const number = Number(value);
    if (min !== undefined && !(number >= min)) return { code: "too_small", message: `must be at least ${min}` };
    if (max !== undefined && !(number <= max)) return { code: "too_large", message: `must be at most ${max}` };
    return undefined;
  };
}

/** Characters of the allowed values that a message lists. */
const MAX_LISTED = 200;

function oneOf(values: readonly string[]): ValueCheck {
  const known = new Set(values);
  const fault: Fault = { code: "not_allowed", message: `must be one of ${listed(values)}` };
  return (value) => (known.has(String(value)) ? undefined : fault);
}

/** Lists values; of a long list the first ones, since a message may be repeated for every item. */
function listed(values: readonly string[]): string {
  const all = values.join(", ");
  return all.length <= MAX_LISTED ? all : `${all.slice(0, all.lastIndexOf(", ", MAX_LISTED))}, …`;
}

function pattern(field: DescField, source: string): ValueCheck {
  let test: RegExp;
  try {
    test = new RegExp(`^(?:${source})$`, "u");
  } catch (cause) {
    throw new Error(`rules of ${field.toString()}: the pattern cannot be compiled`, { cause });
  }
  const fault: Fault = { code: "pattern", message: `must match ${source}` };
  return (value) => (test.test(value as string) ? undefined : fault);
}
