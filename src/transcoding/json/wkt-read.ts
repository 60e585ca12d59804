import { create } from "@bufbuild/protobuf";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { AnySchema, FieldMaskSchema, anyPack } from "@bufbuild/protobuf/wkt";
import type { ListValue, Struct, Value } from "@bufbuild/protobuf/wkt";
import { JsonObject, hasHugeNumber } from "./parse.ts";
import type { JsonNode } from "./parse.ts";
import { setOwn } from "./plain.ts";
import type { MessageReader, ReadState } from "./read-state.ts";
import { NUMBER_TOO_BIG } from "./scalars.ts";
import { hasOwnForm } from "./wkt-write.ts";
import { durationFromText, timestampFromText } from "./times.ts";

/** A `google.protobuf.Value` of any JSON. A literal: `create` takes several times as long, and there may be many. */
function valueFromNode(node: JsonNode): Value {
  return { $typeName: "google.protobuf.Value", kind: kindFromNode(node) };
}

function kindFromNode(node: JsonNode): Value["kind"] {
  if (node === null) return { case: "nullValue", value: 0 };
  if (typeof node === "string") return { case: "stringValue", value: node };
  if (typeof node === "boolean") return { case: "boolValue", value: node };
  if (typeof node !== "object") return { case: "numberValue", value: Number(node) };
  if (Array.isArray(node)) return { case: "listValue", value: listFromNodes(node) };
  return { case: "structValue", value: structFromNode(node) };
}

function listFromNodes(nodes: JsonNode[]): ListValue {
  return { $typeName: "google.protobuf.ListValue", values: nodes.map(valueFromNode) };
}

/** A `google.protobuf.Struct` message of a JSON object. */
function structFromNode(node: JsonObject): Struct {
  const struct: Struct = { $typeName: "google.protobuf.Struct", fields: {} };
  node.keys.forEach((key, i) => setOwn(struct.fields, key, valueFromNode(node.values[i] ?? null)));
  return struct;
}

function fieldMask(text: string): Message | undefined {
  const paths = text === "" ? [] : text.split(",");
  if (paths.some((path) => !/^[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_]*)*$/.test(path))) return undefined;
  return create(FieldMaskSchema, { paths: paths.map((path) => path.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)) });
}

function fromText(read: (text: string) => Message | undefined, what: string): MessageReader {
  return (node, state) => {
    if (typeof node !== "string") return state.addViolation("type", "must be a string");
    return read(node) ?? state.addViolation("format", what);
  };
}

/** `google.protobuf.Any`: `@type` says how the rest is read, with the types the registry has. */
function any(readerOf: (desc: DescMessage) => MessageReader): MessageReader {
  return (node, state) => {
    if (!(node instanceof JsonObject)) return state.addViolation("type", "must be an object");
    if (node.keys.length === 0) return create(AnySchema);
    const type = node.keys.indexOf("@type");
    const url = node.values[type];
    if (typeof url !== "string") return state.addViolation("type", "needs a member @type with the URL of a type");
    const desc = state.registry?.getMessage(url.slice(url.lastIndexOf("/") + 1));
    if (desc === undefined) return state.addViolation("type", "is of a type that is not known here");
    let rest: JsonNode | undefined;
    if (hasOwnForm(desc)) rest = node.values[node.keys.indexOf("value")] ?? null;
    else {
      const object = new JsonObject();
      node.keys.forEach((key, i) => {
        if (i === type) return;
        object.keys.push(key);
        object.values.push(node.values[i] ?? null);
      });
      rest = object;
    }
    const message = readerOf(desc)(rest, state);
    return message === undefined ? undefined : { ...anyPack(desc, message), typeUrl: url };
  };
}

/** Reader for a well-known type that has its own form in JSON; undefined for all other messages. */
export function wktReader(
  desc: DescMessage,
  readerOf: (desc: DescMessage) => MessageReader,
): MessageReader | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return fromText(timestampFromText, "must be an RFC 3339 time such as 2026-01-31T12:00:00Z");
    case "google.protobuf.Duration":
      return fromText(durationFromText, "must be a number of seconds such as 1.5s");
    case "google.protobuf.FieldMask":
      return fromText(fieldMask, "must be field paths with commas between them");
    case "google.protobuf.Value":
      return (node, state) => (hasHugeNumber(node) ? state.addViolation("range", NUMBER_TOO_BIG) : valueFromNode(node));
    case "google.protobuf.Struct":
      return (node, state: ReadState) => {
        if (!(node instanceof JsonObject)) return state.addViolation("type", "must be an object");
        return hasHugeNumber(node) ? state.addViolation("range", NUMBER_TOO_BIG) : structFromNode(node);
      };
    case "google.protobuf.ListValue":
      return (node, state: ReadState) => {
        if (!Array.isArray(node)) return state.addViolation("type", "must be an array");
        return hasHugeNumber(node) ? state.addViolation("range", NUMBER_TOO_BIG) : listFromNodes(node);
      };
    case "google.protobuf.Any":
      return any(readerOf);
    default:
      return undefined;
  }
}
