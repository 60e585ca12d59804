import { setImmediate } from "node:timers/promises";
import { isUuid } from "../../../platform/value-rules.ts";
import { ServiceError } from "../../../platform/errors.ts";
import { FilterSyntaxError } from "../filter/index.ts";
import type { Filter } from "../filter/index.ts";
import { readSeveral } from "../resource/read.ts";
import { isObject } from "../resource/values.ts";
import type { Resource } from "../resource/values.ts";
import { GROUP } from "../schema/index.ts";
import { carryOut } from "./engine.ts";
import { readOperations, targetOf } from "./operations.ts";
import type { Operation, PathTarget } from "./operations.ts";
import { createWork } from "./work.ts";

/** A PATCH of a group. */
export interface GroupPatch {
  /**
   * Ids of the only members on which the result depends, and which it adds or removes; undefined where it depends on
   * all members. A large group changes by a few members without the others being read.
   */
  readonly members: readonly string[] | undefined;
  /**
   * Gives a group after the operations; the one before is not changed. `unread`: number of the group's members that
   * `current` does not have.
   * @throws {tooMany} when the operations do too much together
   */
  apply(current: Resource, unread: number): Promise<Resource>;
}

/** Work after which other requests have their turn; takes some 20 ms. */
const WORK_OF_A_TURN = 250_000;

/** The id in `value eq "id"`. */
function idIn(filter: Filter): string | undefined {
  const isId = filter.kind === "compare" && filter.operator === "eq" && filter.path.toLowerCase() === "value";
  return isId && typeof filter.value === "string" ? filter.value : undefined;
}

/** The members that an operation on a target concerns; undefined for any number of them. */
function concernedBy({ attribute, sub, filter }: PathTarget, op: Operation["op"], value: unknown) {
  if (attribute?.name !== "members") return [];
  if (sub !== undefined) return undefined;
  if (filter !== undefined) {
    const id = op === "remove" ? idIn(filter) : undefined;
    return id === undefined ? undefined : [id];
  }
  if (op === "replace" || (op === "remove" && (value === undefined || value === null))) return undefined;
  return (readSeveral(attribute, value) ?? []).flatMap((member) => {
    const id = isObject(member) ? member["value"] : undefined;
    return typeof id === "string" ? [id] : [];
  });
}

/** As {@link concernedBy} for a member of a value object; names that cannot be read are ignored. */
function concernedByName(name: string, op: Operation["op"], value: unknown) {
  try {
    const target = targetOf(GROUP, name);
    return target === undefined ? [] : concernedBy(target, op, value);
  } catch (error) {
    if (error instanceof FilterSyntaxError) return [];
    throw error;
  }
}

/** Ids of the members that operations concern; undefined for any number of them. */
function membersOf(operations: readonly Operation[]): string[] | undefined {
  const ids = new Set<string>();
  for (const { op, target, value } of operations) {
    const named = isObject(value) ? Object.entries(value) : [];
    const concerned =
      target === undefined
        ? named.map(([name, held]) => concernedByName(name, op, held))
        : [concernedBy(target, op, value)];
    for (const members of concerned) {
      if (members === undefined) return undefined;
      for (const id of members) if (isUuid(id)) ids.add(id.toLowerCase());
    }
  }
  return [...ids];
}

/** As {@link membersOf}; what is refused later concerns any number. */
function readableMembers(operations: readonly Operation[]): string[] | undefined {
  try {
    return membersOf(operations);
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/**
 * Reads the body of a PATCH of a group.
 * @throws {invalidSyntax} when the body has not the structure of a PATCH
 * @throws {invalidPath} when a path cannot be read, or names no attribute
 * @throws {tooMany} when it has more than 1,000 operations
 */
export function readGroupPatch(body: Readonly<Record<string, unknown>>): GroupPatch {
  const operations = readOperations(GROUP, body);
  return {
    members: readableMembers(operations),
    async apply(current, unread) {
      const [resource, work] = [structuredClone(current), createWork(unread)];
      let turnEnds = WORK_OF_A_TURN;
      for (const operation of operations) {
        carryOut(GROUP, resource, operation, work);
        if (work.spent() < turnEnds) continue;
        await setImmediate();
        turnEnds = work.spent() + WORK_OF_A_TURN;
      }
      return resource;
    },
  };
}
