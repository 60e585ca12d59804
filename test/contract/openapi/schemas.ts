import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import {
  null_beside as besideOption,
  nullable as nullableOption,
  omit_empty as omitOption,
  omit_empty_beside as omitBesideOption,
} from "../../../gen/atrium/options/v1/options_pb.ts";
import { printedName } from "../../../src/transcoding/json/names.ts";
import { commentOf } from "./comments.ts";
import { refTo } from "./json-schema.ts";
import type { Schema } from "./json-schema.ts";
import { isRequired, sizeRules, valueRules } from "./rules.ts";

/** Requests and responses have schemas of their own: what must be sent differs from what is always printed. */
export type Direction = "input" | "output";

const INTEGERS = new Set([ScalarType.INT32, ScalarType.SINT32, ScalarType.SFIXED32]);
const UNSIGNED = new Set([ScalarType.UINT32, ScalarType.FIXED32]);
const LONG = new Set([ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64]);

function scalarSchema(scalar: ScalarType): Schema {
  if (INTEGERS.has(scalar)) return { type: "integer", format: "int32" };
  if (UNSIGNED.has(scalar)) return { type: "integer", minimum: 0, maximum: 4_294_967_295 };
  if (LONG.has(scalar)) return { type: "string", format: "int64" };
  if (scalar === ScalarType.BOOL) return { type: "boolean" };
  if (scalar === ScalarType.DOUBLE || scalar === ScalarType.FLOAT) return { type: "number" };
  return scalar === ScalarType.BYTES ? { type: "string", contentEncoding: "base64" } : { type: "string" };
}

/** What protobuf JSON makes of the well-known types. */
const WELL_KNOWN: Readonly<Record<string, Schema>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string" },
  "google.protobuf.Struct": { type: "object", additionalProperties: true },
  "google.protobuf.Value": {},
  "google.protobuf.ListValue": { type: "array", items: {} },
  "google.protobuf.Empty": { type: "object" },
};

const enumSchema = (desc: DescEnum): Schema => ({ type: "string", enum: desc.values.map(({ name }) => name) });

/** Whether a field is absent where it is not set, in place of printing its default value. */
const hasPresence = (field: DescField): boolean =>
  field.fieldKind !== "list" && field.fieldKind !== "map" && field.presence !== FeatureSet_FieldPresence.IMPLICIT;

const isNullable = (field: DescField): boolean => hasOption(field, nullableOption) && getOption(field, nullableOption);
const omitsEmpty = (field: DescField): boolean =>
  hasOption(field, omitBesideOption) || (hasOption(field, omitOption) && getOption(field, omitOption));

/** Makes the schemas of messages, and collects those that are referred to. */
export class Schemas {
  readonly #names: ReadonlyMap<DescMessage, string>;
  readonly #bothWays: ReadonlySet<DescMessage>;
  readonly #components = new Map<string, Schema>();

  /** `names` names every message once; messages of `bothWays` have one schema for each direction. */
  constructor(names: ReadonlyMap<DescMessage, string>, bothWays: ReadonlySet<DescMessage>) {
    this.#names = names;
    this.#bothWays = bothWays;
  }

  /** The components that were referred to, by name. */
  components(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** A message, by reference. */
  message(desc: DescMessage, direction: Direction): Schema {
    const known = WELL_KNOWN[desc.typeName];
    if (known !== undefined) return known;
    if (isWrapperDesc(desc)) return scalarSchema(desc.fields[0].scalar);
    const suffix = direction === "input" && this.#bothWays.has(desc) ? "Input" : "";
    const name = `${this.#names.get(desc) ?? desc.name}${suffix}`;
    if (!this.#components.has(name)) {
      // Known before its fields are read, since a type may hold itself.
      this.#components.set(name, {});
      this.#components.set(name, this.object(desc.fields, direction, commentOf(desc)));
    }
    return refTo("schemas", name);
  }

  /** A schema of its own under this name, by reference. */
  named(name: string, schema: Schema): Schema {
    if (this.#components.has(name)) throw new Error(`two schemas are named ${name}`);
    this.#components.set(name, schema);
    return refTo("schemas", name);
  }

  /** An object with these fields. */
  object(fields: readonly DescField[], direction: Direction, description = ""): Schema {
    const required = fields.filter((field) => (direction === "input" ? isRequired(field) : this.#isPrinted(field)));
    return {
      type: "object",
      ...(description !== "" && { description }),
      ...propertiesOf(fields.map((field) => [printedName(field), this.field(field, direction)])),
      ...(required.length > 0 && { required: required.map(printedName) }),
    };
  }

  /** The value of a field, with its comment and rules. */
  field(field: DescField, direction: Direction): Schema {
    const description = commentOf(field);
    const schema = this.#value(field, direction);
    const canBeNull = isNullable(field) || hasOption(field, besideOption);
    const nulled = direction === "output" && canBeNull ? withNull(schema) : schema;
    return description === "" ? nulled : { ...nulled, description };
  }

  #isPrinted(field: DescField): boolean {
    if (isNullable(field)) return true;
    return field.oneof === undefined && !hasPresence(field) && !omitsEmpty(field);
  }

  #value(field: DescField, direction: Direction): Schema {
    const rules = direction === "input" ? valueRules(field) : outputRules(field);
    const sizes = direction === "input" ? sizeRules(field) : {};
    if (field.fieldKind === "list") return { type: "array", items: this.#one(field, direction, rules), ...sizes };
    if (field.fieldKind === "map")
      return { type: "object", additionalProperties: this.#one(field, direction, rules), ...sizes };
    return this.#one(field, direction, rules);
  }

  #one(field: DescField, direction: Direction, rules: Schema): Schema {
    if (field.enum !== undefined) return enumSchema(field.enum);
    if (field.message !== undefined) return this.message(field.message, direction);
    return { ...scalarSchema(field.scalar), ...rules };
  }
}

/** A property of SCIM is named `$ref`, which many tools take for a reference: it is described by a pattern. */
function propertiesOf(all: readonly (readonly [name: string, schema: Schema])[]): Schema {
  const marked = all.filter(([name]) => name.startsWith("$"));
  return {
    properties: Object.fromEntries(all.filter((one) => !marked.includes(one))),
    ...(marked.length > 0 && {
      patternProperties: Object.fromEntries(marked.map(([name, schema]) => [`^\\${name}$`, schema])),
    }),
  };
}

/** Values that a response field may take, where the contract says so. */
function outputRules(field: DescField): Schema {
  const { enum: values } = valueRules(field);
  return values === undefined ? {} : { enum: values };
}

function withNull(schema: Schema): Schema {
  if (typeof schema["type"] === "string" && schema["enum"] === undefined)
    return { ...schema, type: [schema["type"], "null"] };
  return { anyOf: [schema, { type: "null" }] };
}
