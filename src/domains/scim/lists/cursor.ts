import type { Clock } from "../../../platform/clock.ts";
import type { Sealer } from "../../../platform/crypto/sealed.ts";
import { createCursors as createOpaqueCursors } from "../../../platform/cursors.ts";
import type { Position } from "../../../platform/cursors.ts";
import { scimErrors } from "../errors.ts";

export type { Position } from "../../../platform/cursors.ts";

/** What a cursor is good for. */
export interface CursorScope {
  orgUuid: string;
  kind: string;
  filter: string;
  sortBy: string;
  descending: boolean;
}

/** Cursors of RFC 9865, bound to organization, filter and sort, for a limited time (decisions 8.10). */
export function createCursors(deps: { clock: Clock; sealer: Sealer; cursorMs: number }) {
  const cursors = createOpaqueCursors(deps);
  const scopeOf = ({ orgUuid, kind, filter, sortBy, descending }: CursorScope): readonly unknown[] => [
    "scim",
    orgUuid,
    kind,
    filter,
    sortBy.toLowerCase(),
    descending,
  ];

  return {
    /** The cursor of the page after a position. */
    after: (scope: CursorScope, position: Position): string => cursors.after(scopeOf(scope), position),

    /**
     * The position a cursor stands for.
     * @throws {invalidCursor} when it is not one of this list
     * @throws {expiredCursor} when it is too old
     */
    read(scope: CursorScope, cursor: string): Position {
      const position = cursors.read(scopeOf(scope), cursor);
      if (position === "invalid") throw scimErrors.invalidCursor();
      if (position === "expired") throw scimErrors.expiredCursor();
      return position;
    },
  };
}

/** Cursors as lists use them. */
export type Cursors = ReturnType<typeof createCursors>;
