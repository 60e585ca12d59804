import { createHash } from "node:crypto";
import type { Clock } from "./clock.ts";
import type { Sealer } from "./crypto/sealed.ts";
import { errors, ServiceError } from "./errors.ts";

/** Where a page ends: the sort value of its last row, and its id. */
export interface Position {
  value: string | boolean | null;
  id: string;
}

/** What a cursor is bound to: the list with its owner, its filters and its order, as JSON. */
export type CursorScope = readonly unknown[];

/** Opaque cursors of lists. */
export interface Cursors {
  /** The cursor of the page after a position. */
  after(scope: CursorScope, position: Position): string;
  /** The position that a cursor stands for; `expired` when it is too old, `invalid` when it is none of this list. */
  read(scope: CursorScope, cursor: string): Position | "expired" | "invalid";
}

/** Creates cursors: sealed, so that they cannot be made by others, bound to their list, for a limited time. */
export function createCursors({
  clock,
  sealer,
  cursorMs,
}: {
  clock: Clock;
  sealer: Sealer;
  cursorMs: number;
}): Cursors {
  const contextOf = (scope: CursorScope): string =>
    `cursor:${createHash("sha256").update(JSON.stringify(scope)).digest("base64url")}`;
  return {
    after: (scope, { value, id }) =>
      sealer.seal(JSON.stringify([value, id, clock.now() + cursorMs]), contextOf(scope)).toString("base64url"),
    read(scope, cursor) {
      try {
        const text = sealer.open(Buffer.from(cursor, "base64url"), contextOf(scope)).toString();
        const [value, id, expiresAt] = JSON.parse(text) as [Position["value"], string, number];
        return expiresAt <= clock.now() ? "expired" : { value, id };
      } catch {
        return "invalid";
      }
    },
  };
}

/** Paging of one list by cursor. */
export interface CursorPaging {
  /** After which row the page begins; undefined at the start. */
  position: Position | undefined;
  /** Cursor of the page after a row. */
  next(position: Position): string;
}

/**
 * The paging of a request by cursor; undefined for one by offset.
 * @throws {invalid_cursor} when the cursor is none of this list, or too old (decisions 17.6)
 */
export function pagingBy(
  cursors: Cursors,
  scope: CursorScope,
  { cursor, sort, q }: { cursor?: string | undefined; sort?: string | undefined; q?: string | undefined },
): CursorPaging | undefined {
  if (cursor === undefined) return undefined;
  const whole = [...scope, sort ?? null, q ?? null];
  const position = cursor === "" ? undefined : cursors.read(whole, cursor);
  if (typeof position === "string")
    throw new ServiceError([400, "invalid_cursor", "The cursor is not one of this list, or too old; start anew."]);
  return { position, next: (at) => cursors.after(whole, at) };
}

/** The 400 of a sort that a list does not have. */
export function unknownSort(fields: readonly string[]): ServiceError {
  const message = `must be one of ${fields.join(", ")}, with - before it for descending order`;
  return errors.validation({ fields: [{ field: "sort", code: "in", message }] });
}
