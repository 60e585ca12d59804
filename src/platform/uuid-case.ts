import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { Format } from "../../gen/atrium/options/v1/options_pb.ts";
import { rulesOf } from "./validation.ts";

/** Writes the UUIDs of a message in lower case, in place. */
export type UuidCase = (message: Message) => void;

/** Returns a value with its UUIDs in lower case; a message is changed in place. */
type Change = (value: unknown) => unknown;

/**
 * Compiles the change of every field whose rule is a UUID, of a message and of the messages in it. Ids are accepted in
 * either case (RFC 9562 §4) and the service writes them in lower case: a handler that seals, signs or records the text
 * of an id relies on that.
 * @returns undefined when the message has no such fields.
 */
export function compileUuidCase(desc: DescMessage): UuidCase | undefined {
  return ofMessage(desc, new Map());
}

/** The change of a message type; `isCompiled` is false while its fields are visited. */
interface Slot {
  change: Change | undefined;
  isCompiled: boolean;
}

type Slots = Map<DescMessage, Slot>;

function ofMessage(desc: DescMessage, slots: Slots): Change | undefined {
  if (desc.typeName.startsWith("google.protobuf.")) return undefined;
  const known = slots.get(desc);
  if (known?.isCompiled === true) return known.change;
  // A recursive message type looks up its own change when it is called, after compilation.
  if (known !== undefined) return (value) => (known.change === undefined ? value : known.change(value));
  const slot: Slot = { change: undefined, isCompiled: false };
  slots.set(desc, slot);
  const fields = desc.fields.flatMap((field) => ofField(field, slots) ?? []);
  if (fields.length > 0)
    slot.change = (message) => {
      for (const change of fields) change(message);
      return message;
    };
  slot.isCompiled = true;
  return slot.change;
}

function ofField(field: DescField, slots: Slots): Change | undefined {
  const one: Change | undefined =
    field.message !== undefined
      ? ofMessage(field.message, slots)
      : rulesOf(field)?.format === Format.UUID
        ? lowerCase
        : undefined;
  if (one === undefined) return undefined;
  const { localName, oneof, fieldKind } = field;
  const change = fieldKind === "list" || fieldKind === "map" ? ofEach(one) : one;
  return (message) => {
    const chosen = oneof === undefined ? undefined : (message as Values)[oneof.localName];
    if (oneof === undefined) replace(message as Values, localName, change);
    else if ((chosen as { case?: string }).case === localName) replace(chosen as Values, "value", change);
  };
}

type Values = Record<string, unknown>;

const lowerCase: Change = (value) => (value as string).toLowerCase();

/** The change of each item of a list, or of each value of a map. */
function ofEach(one: Change): Change {
  return (items) => {
    for (const key of Object.keys(items as object)) replace(items as Values, key, one);
    return items;
  };
}

function replace(values: Values, key: string, change: Change): void {
  const value = values[key];
  if (value !== undefined) values[key] = change(value);
}
