import { createHash } from "node:crypto";
import type { DescField, DescMessage, JsonValue, Message } from "@bufbuild/protobuf";
import { create, isFieldSet, isMessage, toBinary } from "@bufbuild/protobuf";
import { StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt";

type Members = Record<string, unknown>;

/**
 * Returns the SHA-256 of a request message, which is the same over every protocol and of every version of the service:
 * of its binary form, with the entries of every map, those of a Struct included, in the order of their keys. Protobuf
 * leaves their order to the sender: that of Go changes it at random from one attempt to the next.
 */
export function fingerprint(desc: DescMessage, message: Message): Buffer {
  return createHash("sha256")
    .update(toBinary(desc, inOrder(desc, message), { writeUnknownFields: false }))
    .digest();
}

/** Returns a copy with maps in order. Not by reflection, which takes seconds for the largest body. */
function inOrder(desc: DescMessage, message: Message): Message {
  const from = message as unknown as Members;
  const copy = create(desc);
  const to = copy as unknown as Members;
  for (const field of desc.fields) {
    if (!isFieldSet(message, field)) continue;
    const { localName, oneof } = field;
    if (oneof === undefined) to[localName] = valueInOrder(field, from[localName]);
    else {
      const { value } = from[oneof.localName] as { value: unknown };
      to[oneof.localName] = { case: localName, value: valueInOrder(field, value) };
    }
  }
  return copy;
}

function valueInOrder(field: DescField, value: unknown): unknown {
  if (field.fieldKind === "map") return membersInOrder(value as Members, (item) => itemInOrder(field, item));
  if (field.fieldKind === "list") return (value as unknown[]).map((item) => itemInOrder(field, item));
  return itemInOrder(field, value);
}

function itemInOrder({ message: desc, parent }: DescField, item: unknown): unknown {
  if (desc === undefined) return item;
  // Except in a Value, the library has a Struct as a plain object, which may have the members of a message.
  if (desc.typeName === StructSchema.typeName && parent.typeName !== ValueSchema.typeName)
    return jsonInOrder(item as JsonValue);
  // A wrapper is there as what it holds.
  return isMessage(item) ? inOrder(desc, item) : item;
}

function jsonInOrder(value: JsonValue): JsonValue {
  if (value === null || typeof value !== "object") return value;
  return Array.isArray(value) ? value.map(jsonInOrder) : membersInOrder(value, jsonInOrder);
}

function membersInOrder<T, R>(members: Record<string, T>, copyOf: (value: T) => R): Record<string, R> {
  const names = Object.keys(members).sort();
  return Object.fromEntries(names.map((name) => [name, copyOf(members[name] as T)]));
}
