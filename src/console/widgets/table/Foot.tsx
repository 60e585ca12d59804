import { Button } from "../Button.tsx";
import { pageText } from "./Beyond.tsx";
import style from "./DataTable.module.css";
import { LAST_BY_OFFSET, PAGE } from "./parts.ts";
import type { Paged } from "./parts.ts";
import type { Cursors } from "./use-cursors.ts";
import type { ListState } from "./use-list.ts";

interface FootProps {
  list: ListState;
  /** Page whose rows are shown, until those of the page in the address have come. */
  shown: number;
  /** Rows of that page. */
  rows: number;
  page: Paged | undefined;
  cursors: Cursors;
  /** Cursor of the next page. */
  next: string | undefined;
  /** Whether the rows are still those of the page before. */
  isOld: boolean;
  byCursor: boolean;
  /** How rows far down are found: `narrow by date`. */
  narrow: string;
}

/** Which rows these are, and the ways to the pages beside them: by number, and by cursor where numbers end. */
export function Foot({ list, shown, rows, page, cursors, next, isOld, byCursor, narrow }: FootProps) {
  const before = (shown - 1) * PAGE;
  const total = Math.max(page?.total ?? 0, before + rows);
  const isEstimate = page?.totalIsEstimate === true;
  const isFar = list.page > LAST_BY_OFFSET;
  const isLastByOffset = list.page === LAST_BY_OFFSET;
  const hasMore = (list.page - 1) * PAGE + rows < total || (isEstimate && rows === PAGE);
  const canGoOn = isFar ? next !== undefined || isOld : hasMore && (byCursor || !isLastByOffset);
  const hint = byCursor ? `; ${narrow} to find others sooner` : `; ${narrow} to see the rest`;

  function go(to: number, cursor: string | undefined): void {
    list.set({ page: pageText(to), ...(to > LAST_BY_OFFSET && { cursor }) });
  }
  return (
    <div className={style["foot"]}>
      <span>
        {(before + 1).toLocaleString("en")}–{(before + rows).toLocaleString("en")} of {isEstimate && "about "}
        {total.toLocaleString("en")}
        {(isFar || (isLastByOffset && hasMore)) && hint}
      </span>
      <span className={style["pages"]}>
        <Button small disabled={list.page === 1} onClick={() => go(list.page - 1, cursors.get(list.page - 1))}>
          Previous page
        </Button>
        <Button
          small
          disabled={!canGoOn}
          onClick={() => {
            // The cursor of rows that are still those of the page before leads to this page.
            if (!isFar || !isOld) go(list.page + 1, isFar ? next : cursors.get(list.page + 1));
          }}
        >
          Next page
        </Button>
      </span>
    </div>
  );
}
