import { getOption, hasOption } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { null_beside as nullBeside, nullable } from "../../gen/atrium/options/v1/options_pb.ts";
import { printedName } from "../transcoding/index.ts";

/** Whether an absent field is printed as `null`, or the field beside which it is. */
export function printsNull(field: DescField): boolean | DescField {
  if (!hasOption(field, nullBeside)) return hasOption(field, nullable) && getOption(field, nullable);
  return fieldBeside(field, getOption(field, nullBeside));
}

/** The field that an option of another field of the same message names. */
export function fieldBeside(field: DescField, name: string): DescField {
  const beside = field.parent.fields.find((other) => other.name === name);
  if (beside === undefined) throw new Error(`an option of ${field.toString()} names ${name}, which does not exist`);
  return beside;
}

/**
 * Returns a text encoder for connect's JSON options that prints members as REST does where connect cannot: absent ones
 * that are documented “or null” as `null`, and those of the SCIM specification under its names (decisions 15.2).
 * Returns nothing for a message without such members.
 */
export function memberEncoder(output: DescMessage): {
  textEncoder?: { encode(json: string): Uint8Array<ArrayBuffer> };
} {
  const change = changeOf(output, new Map());
  if (change === undefined) return {};
  const encoder = new TextEncoder();
  return {
    textEncoder: {
      encode(json) {
        const members = JSON.parse(json) as Members;
        change(members);
        return encoder.encode(JSON.stringify(members));
      },
    },
  };
}

type Members = Record<string, unknown>;
type Change = (members: Members) => void;

/** Returns what changes the members of a message and of those in it; undefined where there is nothing to change. */
function changeOf(desc: DescMessage, known: Map<DescMessage, Change | undefined>): Change | undefined {
  if (known.has(desc)) return known.get(desc);
  // Their JSON is not that of their fields.
  if (desc.typeName.startsWith("google.protobuf.")) return undefined;
  const steps: Change[] = [];
  const change: Change = (members) => {
    for (const step of steps) step(members);
  };
  // Known before its fields are looked at, since a type may hold itself.
  known.set(desc, change);
  for (const field of desc.fields) steps.push(...stepsOf(field, known));
  if (steps.length > 0) return change;
  known.set(desc, undefined);
  return undefined;
}

function stepsOf(field: DescField, known: Map<DescMessage, Change | undefined>): Change[] {
  const { name } = field;
  const steps: Change[] = [];
  const within = field.message === undefined ? undefined : changeOf(field.message, known);
  if (within !== undefined) steps.push((members) => messagesOf(field, members[name]).forEach(within));
  const prints = printsNull(field);
  if (prints !== false)
    steps.push((members) => {
      if (prints === true || members[prints.name] !== undefined) members[name] ??= null;
    });
  const printed = printedName(field);
  if (printed !== name)
    steps.push((members) => {
      if (members[name] === undefined) return;
      members[printed] = members[name];
      delete members[name];
    });
  return steps;
}

/** The messages that a field holds. */
function messagesOf({ fieldKind }: DescField, value: unknown): Members[] {
  if (value === undefined || value === null) return [];
  if (fieldKind === "list") return value as Members[];
  return fieldKind === "map" ? Object.values(value as Record<string, Members>) : [value as Members];
}
