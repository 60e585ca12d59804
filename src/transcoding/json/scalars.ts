import { ScalarType } from "@bufbuild/protobuf";
import type { DescEnum } from "@bufbuild/protobuf";
import type { JsonNode } from "./parse.ts";

/** A value that does not fit; what the violation says. */
export class Mismatch {
  readonly code: string;
  readonly message: string;

  constructor(code: string, message: string) {
    this.code = code;
    this.message = message;
  }
}

/** Reads one JSON value, or says why not. */
export type ReadScalar = (node: JsonNode) => unknown;

const numberText = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const integerText = /^-?(?:0|[1-9][0-9]{0,19})$/;
const floatMax = 3.4028234663852886e38;
const base64Text = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** What is said of a number beyond a double where any JSON may stand. */
export const NUMBER_TOO_BIG = "must hold no number beyond the range of a double";

const notInteger = new Mismatch("type", "must be an integer");
const notNumber = new Mismatch("type", "must be a number");
const notString = new Mismatch("type", "must be a string");
const notBool = new Mismatch("type", "must be true or false");
const notBase64 = new Mismatch("format", "must be base64");

function small(min: number, max: number): ReadScalar {
  const range = new Mismatch("range", `must be from ${min} to ${max}`);
  return (node) => {
    let value: number;
    if (typeof node === "number") value = node;
    else if (typeof node === "string" && numberText.test(node)) value = Number(node);
    else return typeof node === "bigint" ? range : notInteger;
    if (!Number.isInteger(value)) return Number.isFinite(value) ? notInteger : range;
    return value >= min && value <= max ? value + 0 : range;
  };
}

function big(min: bigint, max: bigint, asString: boolean): ReadScalar {
  const range = new Mismatch("range", `must be from ${min} to ${max}`);
  return (node) => {
    let value: bigint;
    if (typeof node === "bigint") value = node;
    else if (typeof node === "number") {
      if (!Number.isInteger(node)) return Number.isFinite(node) ? notInteger : range;
      value = BigInt(node);
    } else if (typeof node !== "string") return notInteger;
    else if (integerText.test(node)) value = BigInt(node);
    else if (!numberText.test(node)) return notInteger;
    else {
      const number = Number(node);
      if (!Number.isInteger(number)) return Number.isFinite(number) ? notInteger : range;
      value = BigInt(number);
    }
    if (value < min || value > max) return range;
    return asString ? value.toString() : value;
  };
}

function real(max: number): ReadScalar {
  const range = new Mismatch("range", "must be a finite number of the field's precision");
  return (node) => {
    let value: number;
    if (typeof node === "number") value = node;
    else if (typeof node === "bigint") value = Number(node);
    else if (node === "NaN" || node === "Infinity" || node === "-Infinity") return Number(node);
    else if (typeof node === "string" && numberText.test(node)) value = Number(node);
    else return notNumber;
    return Math.abs(value) <= max ? value : range;
  };
}

/** Bytes from base64, standard or URL-safe alphabet, padded or not; undefined when it is not that. */
function bytesFromBase64(text: string): Uint8Array | undefined {
  if (!base64Text.test(text)) return undefined;
  const pad = text.indexOf("=");
  const length = pad < 0 ? text.length : pad;
  if (length % 4 === 1 || (pad >= 0 && text.length % 4 !== 0)) return undefined;
  return new Uint8Array(Buffer.from(text, "base64"));
}

/** Reader for a scalar type by the rules of protobuf JSON; `asString` for `jstype = JS_STRING`. */
export function scalarReader(type: ScalarType, asString: boolean): ReadScalar {
  switch (type) {
    case ScalarType.STRING:
      return (node) => (typeof node === "string" ? node : notString);
    case ScalarType.BOOL:
      return (node) => (typeof node === "boolean" ? node : notBool);
    case ScalarType.BYTES:
      return (node) => (typeof node === "string" ? (bytesFromBase64(node) ?? notBase64) : notBase64);
    case ScalarType.DOUBLE:
      return real(Number.MAX_VALUE);
    case ScalarType.FLOAT:
      return real(floatMax);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return small(0, 0xffffffff);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return small(-0x80000000, 0x7fffffff);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return big(0n, 0xffffffffffffffffn, asString);
    default:
      return big(-0x8000000000000000n, 0x7fffffffffffffffn, asString);
  }
}

/** Reader for an enum: the name of a value, or its number. */
export function enumReader(desc: DescEnum): ReadScalar {
  if (desc.typeName === "google.protobuf.NullValue") {
    const mismatch = new Mismatch("type", "must be null");
    return (node) => (node === null || node === "NULL_VALUE" || node === 0 ? 0 : mismatch);
  }
  const numbers = new Map<string, number>();
  for (const value of desc.values) numbers.set(value.jsonName, value.number);
  for (const value of desc.values) numbers.set(value.name, value.number);
  const known = new Set(numbers.values());
  const mismatch = new Mismatch("enum", "must be one of the values the field has");
  const number = small(-0x80000000, 0x7fffffff);
  return (node) => {
    if (typeof node === "string") {
      const found = numbers.get(node);
      if (found !== undefined) return found;
    }
    const value = number(node);
    return typeof value === "number" && (desc.open || known.has(value)) ? value : mismatch;
  };
}
