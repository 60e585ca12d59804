import { ScalarType } from "@bufbuild/protobuf";
import type { DescEnum } from "@bufbuild/protobuf";

/** Prints a value as JSON text. */
export type WriteValue = (value: unknown) => string;

const special = /["\\\u0000-\u001f\ud800-\udfff]/;

/** A JSON string. */
export function quote(text: string): string {
  return text.length < 100 && !special.test(text) ? `"${text}"` : JSON.stringify(text);
}

const writeInteger: WriteValue = (value) => `${value as number}`;
const writeBig: WriteValue = (value) => `"${value as bigint}"`;

/** Printer of a scalar type by the rules of protobuf JSON. */
export function scalarWriter(type: ScalarType): WriteValue {
  switch (type) {
    case ScalarType.STRING:
      return (value) => quote(value as string);
    case ScalarType.BOOL:
      return (value) => (value === true ? "true" : "false");
    case ScalarType.BYTES:
      return (value) => {
        const bytes = value as Uint8Array;
        return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}"`;
      };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value) => (Number.isFinite(value) ? `${value as number}` : `"${value as number}"`);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return writeBig;
    default:
      return writeInteger;
  }
}

/** Printer of an enum: the value's name, its number where it has none. */
export function enumWriter(desc: DescEnum): WriteValue {
  if (desc.typeName === "google.protobuf.NullValue") return () => "null";
  const names = new Map<unknown, string>();
  for (const value of desc.values)
    if (!names.has(value.number)) names.set(value.number, JSON.stringify(value.jsonName));
  return (value) => names.get(value) ?? `${value as number}`;
}
