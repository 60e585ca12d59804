import { create } from "@bufbuild/protobuf";
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { fieldReader } from "./fields.ts";
import { acceptedNames, printedName } from "./names.ts";
import { JsonError, JsonObject } from "./parse.ts";
import type { JsonNode } from "./parse.ts";
import type { FieldReader, MessageReader, ReadState } from "./read-state.ts";
import { Mismatch, scalarReader } from "./scalars.ts";
import { wktReader } from "./wkt-read.ts";

interface Member {
  readonly step: string;
  readonly read: FieldReader;
  /** Position among the fields that have two spellings; -1 for the others. */
  readonly twin: number;
}

const readers = new WeakMap<DescMessage, MessageReader>();

/** The reader compiled for a message type. */
export function messageReader(desc: DescMessage): MessageReader {
  const known = readers.get(desc);
  if (known !== undefined) return known;
  const wkt = wktReader(desc, messageReader) ?? wrapperReader(desc);
  if (wkt !== undefined) {
    readers.set(desc, wkt);
    return wkt;
  }
  const members = new Map<string, Member>();
  const reader: MessageReader = (node, state) => {
    if (!(node instanceof JsonObject)) return state.addViolation("type", "must be an object");
    return readMembers(create(desc), node, members, state);
  };
  // Known before its fields are compiled, since a type may hold itself.
  readers.set(desc, reader);
  let twins = 0;
  for (const field of desc.fields) {
    const names = acceptedNames(field);
    const member: Member = {
      step: printedName(field),
      read: fieldReader(field, messageReader),
      twin: names.length > 1 ? twins++ : -1,
    };
    for (const name of names) members.set(name, member);
  }
  return reader;
}

function readMembers(message: Message, node: JsonObject, members: Map<string, Member>, state: ReadState): Message {
  const { keys, values } = node;
  const depth = state.depth++;
  let seen = 0;
  let more: Set<number> | undefined;
  for (let i = 0; i < keys.length; i++) {
    const member = members.get(keys[i] as string);
    if (member === undefined) continue;
    state.path[depth] = member.step;
    if (member.twin >= 0) {
      const bit = member.twin < 31 ? 1 << member.twin : 0;
      if (bit === 0 ? more?.has(member.twin) : (seen & bit) !== 0) {
        throw new JsonError("the member is there twice, under both of its names", state.where());
      }
      if (bit === 0) (more ??= new Set()).add(member.twin);
      else seen |= bit;
    }
    member.read(message, values[i] as JsonNode, state);
  }
  state.depth = depth;
  return message;
}

/** Wrapper messages where they are not unwrapped: list items, map values, oneofs, bodies. */
function wrapperReader(desc: DescMessage): MessageReader | undefined {
  if (!isWrapperDesc(desc)) return undefined;
  const field: DescField & { fieldKind: "scalar" } = desc.fields[0];
  const read = scalarReader(field.scalar, field.longAsString);
  return (node, state) => {
    const value = read(node);
    if (value instanceof Mismatch) return state.addViolation(value.code, value.message);
    return Object.assign(create(desc as DescMessage), { [field.localName]: value });
  };
}
