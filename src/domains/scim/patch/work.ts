import { scimErrors } from "../errors.ts";
import type { Filter } from "../filter/index.ts";
import { foldText } from "../resource/values.ts";

/**
 * Work of one PATCH, in values that are looked at: 1,000 operations, each of which selects by one comparison for
 * equality among all members of the largest group, take all of it, and about a second.
 */
const MAX_WORK = 20_000_000;
/** Work of comparing a text by other operators than equality, which reads it. */
const READING = 100;

/** Bounds what the operations of a PATCH do to long lists. */
export interface Work {
  /** Number of values that the list has besides those that were read, because no operation concerns them. */
  readonly unread: number;
  /** Work so far. */
  spent(): number;
  /** @throws {tooMany} when the operations do too much together */
  spend(units: number): void;
  /** `foldText`, remembered: each operation compares the same values again. */
  fold(text: string): string;
}

/** Creates the bound of one PATCH. */
export function createWork(unread = 0): Work {
  const folded = new Map<string, string>();
  let left = MAX_WORK;
  return {
    unread,
    spent: () => MAX_WORK - left,
    spend(units) {
      left -= units;
      if (left < 0) throw scimErrors.tooMany("The operations compare too many values; send fewer in a request.");
    },
    fold(text) {
      const known = folded.get(text);
      if (known !== undefined) return known;
      const made = foldText(text);
      folded.set(text, made);
      return made;
    },
  };
}

/** The work of applying a filter to one value. */
export function workOf(filter: Filter): number {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.reduce((sum, term) => sum + workOf(term), 0);
    case "not":
      return workOf(filter.term);
    case "compare":
      return filter.operator === "eq" || filter.operator === "ne" ? 1 : READING;
    default:
      return 1;
  }
}
