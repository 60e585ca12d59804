import type { DescField, DescMessage, Registry } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { printedName } from "./names.ts";
import { enumWriter, quote, scalarWriter } from "./text.ts";
import type { WriteValue } from "./text.ts";
import { wktWriter } from "./wkt-write.ts";

/** How fields are printed where protobuf JSON leaves a choice. */
export interface WriteOptions {
  /** Print `null` where the field is absent, or only where the returned field of the same message is present. */
  nullable(field: DescField): boolean | DescField;
  /**
   * Leave the field out while it has its default value, or only where the returned field of the same message is
   * present.
   */
  omitEmpty(field: DescField): boolean | DescField;
  /** Types `google.protobuf.Any` may hold. */
  readonly registry: Registry | undefined;
}

/** A field's value as text; undefined when it is left out. */
type WriteField = (message: Record<string, unknown>) => string | undefined;

/** Compiles, once per type, functions that print messages as protobuf JSON with proto field names. */
export class Writers {
  private readonly options: WriteOptions;
  private readonly known = new Map<DescMessage, WriteValue>();

  constructor(options: WriteOptions) {
    this.options = options;
  }

  /** The printer of a message type. */
  message(desc: DescMessage): WriteValue {
    const known = this.known.get(desc);
    if (known !== undefined) return known;
    const wkt = wktWriter(desc, this, this.options.registry) ?? wrapperWriter(desc);
    if (wkt !== undefined) {
      this.known.set(desc, wkt);
      return wkt;
    }
    const names: string[] = [];
    const fields: WriteField[] = [];
    const write: WriteValue = (value) => {
      let out = "";
      for (let i = 0; i < fields.length; i++) {
        const text = (fields[i] as WriteField)(value as Record<string, unknown>);
        if (text !== undefined) out += (out === "" ? "{" : ",") + (names[i] as string) + text;
      }
      return out === "" ? "{}" : `${out}}`;
    };
    // Known before its fields are compiled, since a type may hold itself.
    this.known.set(desc, write);
    for (const field of desc.fields) {
      names.push(`${JSON.stringify(printedName(field))}:`);
      fields.push(this.field(field));
    }
    return write;
  }

  /** The printer of one field of a message, for `response_body` and for messages. */
  field(field: DescField): WriteField {
    const { localName } = field;
    const write = this.value(field);
    const omit = this.options.omitEmpty(field);
    const omits = omission(omit);
    if (field.fieldKind === "list") return listWriter(localName, write, omits);
    if (field.fieldKind === "map") return mapWriter(localName, write, omits);
    const absent = absentWriter(this.options.nullable(field));
    if (field.oneof !== undefined) {
      const group = field.oneof.localName;
      return (message) => {
        const one = message[group] as { case?: string; value?: unknown };
        return one.case === localName ? write(one.value) : absent(message);
      };
    }
    if (field.presence !== FeatureSet_FieldPresence.IMPLICIT) {
      // Outside proto3 an absent field shows its default through the prototype.
      return (message) => {
        const value = message[localName];
        return value !== undefined && Object.hasOwn(message, localName) ? write(value) : absent(message);
      };
    }
    if (omit === false) return (message) => write(message[localName]);
    let zero: unknown = field.fieldKind === "enum" ? field.enum.values[0]?.number : undefined;
    if (field.fieldKind === "scalar" && field.longAsString) zero = "0";
    return (message) => {
      const value = message[localName];
      return isEmpty(value, zero) && omits(message) ? undefined : write(value);
    };
  }

  /** The printer of a field's single value, list item or map value. */
  private value(field: DescField): WriteValue {
    if (field.enum !== undefined) return enumWriter(field.enum);
    if (field.message === undefined) return scalarWriter(field.scalar);
    if (field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message)) {
      return scalarWriter(field.message.fields[0].scalar);
    }
    if (field.message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value") {
      return (value) => JSON.stringify(value);
    }
    const { message: desc } = field;
    let write: WriteValue | undefined;
    return (value) => (write ??= this.message(desc))(value);
  }
}

/** True for a default value: `zero` where the type has a special one. */
function isEmpty(value: unknown, zero: unknown): boolean {
  if (zero !== undefined) return value === zero;
  return value instanceof Uint8Array
    ? value.length === 0
    : value === 0 || value === "" || value === false || value === 0n;
}

function absentWriter(nullable: boolean | DescField): WriteField {
  if (typeof nullable !== "boolean")
    return (message) => (Object.hasOwn(message, nullable.localName) ? "null" : undefined);
  const text = nullable ? "null" : undefined;
  return () => text;
}

/** Whether a message leaves out a field that is empty. */
type Omits = (message: object) => boolean;

function omission(omit: boolean | DescField): Omits {
  if (typeof omit === "boolean") return () => omit;
  return (message) => Object.hasOwn(message, omit.localName);
}

function listWriter(localName: string, write: WriteValue, omits: Omits): WriteField {
  return (message) => {
    const items = message[localName] as unknown[];
    if (items.length === 0) return omits(message) ? undefined : "[]";
    let out = "";
    for (const item of items) out += (out === "" ? "[" : ",") + write(item);
    return `${out}]`;
  };
}

function mapWriter(localName: string, write: WriteValue, omits: Omits): WriteField {
  return (message) => {
    const map = message[localName] as Record<string, unknown>;
    let out = "";
    for (const key of Object.keys(map)) out += `${out === "" ? "{" : ","}${quote(key)}:${write(map[key])}`;
    return out === "" ? (omits(message) ? undefined : "{}") : `${out}}`;
  };
}

function wrapperWriter(desc: DescMessage): WriteValue | undefined {
  if (!isWrapperDesc(desc)) return undefined;
  const write = scalarWriter(desc.fields[0].scalar);
  return (message) => write((message as { value: unknown }).value);
}
