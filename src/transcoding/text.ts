import { ScalarType, create } from "@bufbuild/protobuf";
import type { DescField } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { Mismatch, enumReader, scalarReader } from "./json/scalars.ts";
import type { ReadScalar } from "./json/scalars.ts";
import { messageReader } from "./json/read.ts";
import { ReadState } from "./json/read-state.ts";

/** Reads a path or query value as a field (or a list's item) holds it. */
export type ReadText = (text: string) => unknown;

const textual = new Set(["google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask"]);

/** Returns the reader of a field's text; undefined for types that a path or query cannot carry. */
export function textReader(field: DescField): ReadText | undefined {
  if (field.fieldKind === "map") return undefined;
  if (field.enum !== undefined) {
    const read = enumReader(field.enum);
    return (text) => read(/^-?\d+$/.test(text) ? Number(text) : text);
  }
  if (field.message === undefined) return scalarText(field.scalar, field.longAsString);
  const { message } = field;
  if (isWrapperDesc(message)) {
    const inner = message.fields[0];
    const read = scalarText(inner.scalar, inner.longAsString);
    if (field.fieldKind === "message" && field.oneof === undefined) return read;
    return (text) => {
      const value = read(text);
      return value instanceof Mismatch ? value : Object.assign(create(field.message), { [inner.localName]: value });
    };
  }
  if (!textual.has(message.typeName)) return undefined;
  const read = messageReader(message);
  return (text) => {
    const state = new ReadState(undefined, 1);
    return read(text, state) ?? new Mismatch("format", state.violations[0]?.message ?? "is malformed");
  };
}

function scalarText(type: ScalarType, asString: boolean): ReadText {
  const read: ReadScalar = scalarReader(type, asString);
  if (type !== ScalarType.BOOL) return read;
  return (text) => read(text === "true" ? true : text === "false" ? false : text);
}

/** Sets the field at a path, creating messages on the way; false when another field of a oneof is set. */
export function put(message: object, fields: readonly DescField[], value: unknown, replace: boolean): boolean {
  let at = message as Record<string, unknown>;
  const last = fields.length - 1;
  for (let i = 0; i < last; i++) {
    const field = fields[i] as DescField & { fieldKind: "message" };
    if (field.oneof === undefined) {
      at = (at[field.localName] ??= create(field.message)) as Record<string, unknown>;
      continue;
    }
    const one = at[field.oneof.localName] as { case?: string; value?: unknown };
    if (one.case !== undefined && one.case !== field.localName && !replace) return false;
    if (one.case !== field.localName)
      at[field.oneof.localName] = { case: field.localName, value: create(field.message) };
    at = (at[field.oneof.localName] as { value: Record<string, unknown> }).value;
  }
  const field = fields[last] as DescField;
  if (field.fieldKind === "list") (at[field.localName] as unknown[]).push(value);
  else if (field.oneof === undefined) at[field.localName] = value;
  else if (replace || (at[field.oneof.localName] as { case?: string }).case === undefined) {
    at[field.oneof.localName] = { case: field.localName, value };
  } else return false;
  return true;
}
