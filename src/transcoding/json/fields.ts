import { ScalarType } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { JsonObject, hasHugeNumber } from "./parse.ts";
import type { JsonNode } from "./parse.ts";
import { setOwn, toPlain } from "./plain.ts";
import type { FieldReader, MessageReader, ReadState } from "./read-state.ts";
import { Mismatch, enumReader, scalarReader, NUMBER_TOO_BIG } from "./scalars.ts";
import type { ReadScalar } from "./scalars.ts";

/** Reads one value as a message of protobuf-es holds it; undefined when a violation was noted. */
type ReadValue = (node: JsonNode, state: ReadState) => unknown;
type ReaderOf = (desc: DescMessage) => MessageReader;

function checked(read: ReadScalar): ReadValue {
  return (node, state) => {
    const value = read(node);
    return value instanceof Mismatch ? state.addViolation(value.code, value.message) : value;
  };
}

/** How the value of a field, a list item or a map value is read. */
function valueReader(field: DescField, readerOf: ReaderOf): ReadValue {
  if (field.enum !== undefined) return checked(enumReader(field.enum));
  if (field.message === undefined) {
    const asString = field.fieldKind !== "map" && "longAsString" in field && field.longAsString;
    return checked(scalarReader(field.scalar, asString));
  }
  if (field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message)) {
    const inner = field.message.fields[0];
    return checked(scalarReader(inner.scalar, inner.longAsString));
  }
  if (field.message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value") {
    return (node, state) => {
      if (!(node instanceof JsonObject)) return state.addViolation("type", "must be an object");
      return hasHugeNumber(node) ? state.addViolation("range", NUMBER_TOO_BIG) : toPlain(node);
    };
  }
  return readerOf(field.message);
}

/** True where JSON null is a value of its own and does not mean "absent". */
function takesNull(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Value" || field.enum?.typeName === "google.protobuf.NullValue";
}

/** Compiles how a member of a JSON object is put into its message. */
export function fieldReader(field: DescField, readerOf: ReaderOf): FieldReader {
  const { localName } = field;
  const nullable = takesNull(field);
  if (field.fieldKind === "list") return listReader(localName, nullable, valueReader(field, readerOf));
  if (field.fieldKind === "map") return mapReader(field, nullable, valueReader(field, readerOf));
  const { oneof } = field;
  const read = valueReader(field, readerOf);
  if (oneof !== undefined) {
    const group = oneof.localName;
    return (message, node, state) => {
      if (node === null && !nullable) return;
      if ((message[group] as { case?: string }).case !== undefined) {
        state.addViolation("oneof", `only one of ${oneof.fields.map((f) => f.name).join(", ")} may be there`);
        return;
      }
      const value = read(node, state);
      if (value !== undefined) message[group] = { case: localName, value };
    };
  }
  return (message, node, state) => {
    if (node === null && !nullable) return;
    const value = read(node, state);
    if (value !== undefined) message[localName] = value;
  };
}

function listReader(localName: string, nullable: boolean, read: ReadValue): FieldReader {
  return (message, node, state) => {
    if (node === null) return;
    if (!Array.isArray(node)) {
      state.addViolation("type", "must be an array");
      return;
    }
    const items: unknown[] = [];
    const depth = state.depth++;
    for (let i = 0; i < node.length; i++) {
      state.path[depth] = i;
      const item = node[i] as JsonNode;
      if (item === null && !nullable) state.addViolation("type", "must not be null");
      else items.push(read(item, state));
    }
    state.depth = depth;
    message[localName] = items;
  };
}

function mapReader(field: DescField & { fieldKind: "map" }, nullable: boolean, read: ReadValue): FieldReader {
  const { localName } = field;
  const readKey = keyReader(field.mapKey);
  return (message, node, state) => {
    if (node === null) return;
    if (!(node instanceof JsonObject)) {
      state.addViolation("type", "must be an object");
      return;
    }
    const map = {};
    const depth = state.depth++;
    for (let i = 0; i < node.keys.length; i++) {
      const key = node.keys[i] as string;
      const value = node.values[i] as JsonNode;
      state.path[depth] = key;
      const name = readKey(key);
      if (name === undefined) state.addViolation("type", "is not a key this map can have");
      else if (Object.hasOwn(map, name)) state.addViolation("duplicate", "is there twice");
      else if (value === null && !nullable) state.addViolation("type", "must not be null");
      else setOwn(map, name, read(value, state));
    }
    state.depth = depth;
    message[localName] = map;
  };
}

/** Map keys travel as strings; numbers must be whole and in range. */
function keyReader(type: ScalarType): (key: string) => string | undefined {
  if (type === ScalarType.STRING) return (key) => key;
  if (type === ScalarType.BOOL) return (key) => (key === "true" || key === "false" ? key : undefined);
  const read = scalarReader(type, true);
  return (key) => {
    const value = read(key);
    return value instanceof Mismatch ? undefined : String(value);
  };
}
