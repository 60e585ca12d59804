import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { Format, rules } from "../../../../gen/atrium/options/v1/options_pb.ts";
import type { Rules } from "../../../../gen/atrium/options/v1/options_pb.ts";

/** The rules that the contract gives a field of a request. */
export function rulesOf(field: DescField): Rules | undefined {
  return hasOption(field, rules) ? getOption(field, rules) : undefined;
}

const FORMATS: Readonly<Partial<Record<Format, readonly [pattern: RegExp, what: string]>>> = {
  [Format.UUID]: [/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu, "Enter an id of 36 characters."],
  [Format.EMAIL]: [/^[^\s@]+@[^\s@]+$/u, "Enter an email address, such as ada@example.com."],
  [Format.HTTP_URL]: [/^https?:\/\/[^\s/@]+(?:\/\S*)?$/iu, "Enter a URL that begins with https:// or http://."],
  [Format.E164]: [/^\+[1-9]\d{1,14}$/u, "Enter the number with its country code, such as +4915112345678."],
  [Format.IP]: [/^[0-9a-f.:]+$/iu, "Enter an IP address."],
  [Format.NAME]: [/\S/u, "This is required."],
};

const INT32 = [-(2 ** 31), 2 ** 31 - 1] as const;
const UINT32 = [0, 2 ** 32 - 1] as const;

/** Limits of the whole numbers that a form holds. The encoding throws for a fraction, and beyond them. */
const WHOLE: Readonly<Partial<Record<ScalarType, readonly [min: number, max: number]>>> = {
  [ScalarType.INT32]: INT32,
  [ScalarType.SINT32]: INT32,
  [ScalarType.SFIXED32]: INT32,
  [ScalarType.UINT32]: UINT32,
  [ScalarType.FIXED32]: UINT32,
};

/** Says what is wrong with a value, by the contract's rules; the service checks it again. */
export function faultOf(field: DescField, value: unknown): string | undefined {
  const rule = rulesOf(field);
  if (typeof value === "number") return faultOfNumber(field, rule, value);
  if (rule === undefined) return undefined;
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0 && rule.minItems === 0))
    return rule.required ? "This is required." : undefined;
  if (Array.isArray(value)) {
    if (value.length < rule.minItems)
      return rule.minItems === 1 ? "Choose at least one." : `At least ${rule.minItems}.`;
    return rule.maxItems > 0 && value.length > rule.maxItems ? `At most ${rule.maxItems}.` : undefined;
  }
  return typeof value === "string" ? faultOfText(rule, value) : undefined;
}

function faultOfNumber(field: DescField, rule: Rules | undefined, value: number): string | undefined {
  const whole = field.fieldKind === "scalar" ? WHOLE[field.scalar] : undefined;
  if (Number.isNaN(value)) return "Enter a number.";
  if (whole !== undefined && !Number.isInteger(value)) return "Enter a whole number.";
  const min = rule?.min ?? whole?.[0];
  const max = rule?.max ?? whole?.[1];
  if (min !== undefined && value < min) return `The least is ${min.toLocaleString("en")}.`;
  if (max !== undefined && value > max) return `The most is ${max.toLocaleString("en")}.`;
  return undefined;
}

function faultOfText({ minLen, maxLen, pattern, format, in: allowed }: Rules, value: string): string | undefined {
  const length = [...value].length;
  if (length < minLen) return `At least ${minLen} characters.`;
  if (maxLen > 0 && length > maxLen) return `At most ${maxLen.toLocaleString("en")} characters.`;
  if (allowed.length > 0 && !allowed.includes(value)) return `Choose one of ${allowed.join(", ")}.`;
  if (pattern !== "" && !matches(pattern, value)) return "This form is not allowed.";
  const [form, what] = FORMATS[format] ?? [];
  return form === undefined || form.test(value.trim()) ? undefined : what;
}

/** Whether white space at the ends of a text can only be pasted with it: no valid value has it. */
export function isTight({ pattern, format }: Rules): boolean {
  if (format === Format.NAME) return false;
  return format in FORMATS || (pattern !== "" && !matches(pattern, " "));
}

const matches = (pattern: string, value: string): boolean => new RegExp(`^(?:${pattern})$`, "u").test(value);

/** Whether the contract demands a field. */
export const isRequired = (schema: DescMessage, name: string): boolean =>
  rulesOf(schema.field[name] as DescField)?.required ?? false;
