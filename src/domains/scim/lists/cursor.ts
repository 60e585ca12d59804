import { createHash } from "node:crypto";
import type { Clock } from "../../../platform/clock.ts";
import type { Sealer } from "../../../platform/crypto/sealed.ts";
import { scimErrors } from "../errors.ts";

/** Where a page ends: the sort value of its last resource, and its id. */
export interface Position {
  value: string | boolean | null;
  id: string;
}

/** What a cursor is good for. */
export interface CursorScope {
  orgUuid: string;
  kind: string;
  filter: string;
  sortBy: string;
  descending: boolean;
}

/** Cursors of RFC 9865: sealed, bound to organization, filter and sort, for a limited time (decisions 8.10). */
export function createCursors({ clock, sealer, cursorMs }: { clock: Clock; sealer: Sealer; cursorMs: number }) {
  function contextOf({ orgUuid, kind, filter, sortBy, descending }: CursorScope): string {
    const query = JSON.stringify([filter, sortBy.toLowerCase(), descending]);
    return `scim-cursor:${orgUuid}:${kind}:${createHash("sha256").update(query).digest("base64url")}`;
  }

  return {
    /** The cursor of the page after a position. */
    after: (scope: CursorScope, { value, id }: Position): string =>
      sealer.seal(JSON.stringify([value, id, clock.now() + cursorMs]), contextOf(scope)).toString("base64url"),

    /**
     * The position a cursor stands for.
     * @throws {invalidCursor} when it is not one of this list
     * @throws {expiredCursor} when it is too old
     */
    read(scope: CursorScope, cursor: string): Position {
      let opened: [Position["value"], string, number];
      try {
        opened = JSON.parse(sealer.open(Buffer.from(cursor, "base64url"), contextOf(scope)).toString()) as never;
      } catch {
        throw scimErrors.invalidCursor();
      }
      const [value, id, expiresAt] = opened;
      if (expiresAt <= clock.now()) throw scimErrors.expiredCursor();
      return { value, id };
    },
  };
}

/** Cursors as lists use them. */
export type Cursors = ReturnType<typeof createCursors>;
