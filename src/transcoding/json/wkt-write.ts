import type { DescMessage, Message, Registry } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Any, Duration, FieldMask, ListValue, Struct, Timestamp, Value } from "@bufbuild/protobuf/wkt";
import { quote } from "./text.ts";
import type { WriteValue } from "./text.ts";
import { durationToText, timestampToText } from "./times.ts";

/** Prints a `google.protobuf.Value`; one without a kind counts as null. */
function value(message: Value): string {
  const { kind } = message;
  switch (kind.case) {
    case "stringValue":
      return quote(kind.value);
    case "boolValue":
      return kind.value ? "true" : "false";
    case "numberValue":
      if (!Number.isFinite(kind.value)) throw new RangeError("JSON has no number that is not finite");
      return `${kind.value}`;
    case "structValue":
      return struct(kind.value);
    case "listValue":
      return list(kind.value);
    default:
      return "null";
  }
}

function struct(message: Struct): string {
  return `{${Object.entries(message.fields)
    .map(([name, field]) => `${quote(name)}:${value(field)}`)
    .join(",")}}`;
}

function list(message: ListValue): string {
  return `[${message.values.map(value).join(",")}]`;
}

function fieldMask(message: FieldMask): string {
  return quote(message.paths.map((path) => path.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase())).join(","));
}

function any(
  message: Any,
  writers: { message(desc: DescMessage): WriteValue },
  registry: Registry | undefined,
): string {
  if (message.typeUrl === "") return "{}";
  const held: Message | undefined = registry === undefined ? undefined : anyUnpack(message, registry);
  const desc = held === undefined ? undefined : registry?.getMessage(held.$typeName);
  if (held === undefined || desc === undefined)
    throw new TypeError(`the registry lacks ${message.typeUrl}, which an Any holds`);
  const text = writers.message(desc)(held);
  const type = `"@type":${quote(message.typeUrl)}`;
  if (hasOwnForm(desc)) return `{${type},"value":${text}}`;
  return text === "{}" ? `{${type}}` : `{${type},${text.slice(1)}`;
}

/** True for well-known types whose JSON is not an object of their fields, which an Any puts under `value`. */
export function hasOwnForm(desc: DescMessage): boolean {
  return ownForm.test(desc.typeName);
}

const ownForm = new RegExp(
  "^google\\.protobuf\\.(?:Any|Timestamp|Duration|FieldMask|Struct|Value|ListValue|" +
    "(?:Double|Float|Int64|UInt64|Int32|UInt32|Bool|String|Bytes)Value)$",
);

/** Printer of a well-known type that has its own form in JSON; undefined for all other messages. */
export function wktWriter(
  desc: DescMessage,
  writers: { message(desc: DescMessage): WriteValue },
  registry: Registry | undefined,
): WriteValue | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return (message) => `"${timestampToText(message as Timestamp)}"`;
    case "google.protobuf.Duration":
      return (message) => `"${durationToText(message as Duration)}"`;
    case "google.protobuf.FieldMask":
      return (message) => fieldMask(message as FieldMask);
    case "google.protobuf.Value":
      return (message) => value(message as Value);
    case "google.protobuf.Struct":
      return (message) => struct(message as Struct);
    case "google.protobuf.ListValue":
      return (message) => list(message as ListValue);
    case "google.protobuf.Any":
      return (message) => any(message as Any, writers, registry);
    default:
      return undefined;
  }
}
