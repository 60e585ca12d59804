import { useRef } from "react";
import { LAST_BY_OFFSET, PAGE } from "./parts.ts";
import type { Place } from "./parts.ts";
import type { ListState } from "./use-list.ts";

/** Cursors of the pages beyond the reach of offsets that were met so far. */
export interface Cursors {
  get(page: number): string | undefined;
  note(page: number, cursor: string | undefined): void;
  /** Where the nearest known page before another begins. */
  before(page: number): Place | undefined;
}

/** Remembers where pages begin, while the list stays the same: cursors lead forward alone. */
export function useCursors({ q, sort, filters }: ListState): Cursors {
  const met = useRef({ list: "", cursors: new Map<number, string>() });
  const list = JSON.stringify([q, sort, filters]);
  if (met.current.list !== list) met.current = { list, cursors: new Map() };
  const { cursors } = met.current;
  return {
    get: (page) => cursors.get(page),
    note(page, cursor) {
      if (cursor !== undefined && page > LAST_BY_OFFSET) cursors.set(page, cursor);
    },
    before(page) {
      const nearest = Math.max(0, ...[...cursors.keys()].filter((one) => one < page));
      const cursor = cursors.get(nearest);
      return cursor === undefined ? undefined : { row: (nearest - 1) * PAGE, cursor };
    },
  };
}
