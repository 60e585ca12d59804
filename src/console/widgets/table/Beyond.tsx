import type { DescMessage } from "@bufbuild/protobuf";
import { useEffect, useState } from "react";
import { Button } from "../Button.tsx";
import { Empty, Failed } from "../States.tsx";
import style from "./DataTable.module.css";
import { hasCursors, LAST_BY_OFFSET, PAGE, readPieces } from "./parts.ts";
import type { Source } from "./parts.ts";
import progress from "./Progress.module.css";
import type { Cursors } from "./use-cursors.ts";
import type { ListState } from "./use-list.ts";

interface NoPageProps {
  things: string;
  list: ListState;
  /** Rows of the list; undefined where there are more than are counted. */
  total: number | undefined;
  /** Whether pages beyond the reach of offsets can be read. */
  byCursor: boolean;
}

/** The address names a page after the last one: says so, and leads back. */
export function NoPage({ things, list, total, byCursor }: NoPageProps) {
  const end = total === undefined ? Infinity : Math.max(1, Math.ceil(total / PAGE));
  const last = byCursor ? end : Math.min(end, LAST_BY_OFFSET);
  const unread = last < end ? " that can be read; search or filter to see the rest" : "";
  const [wanted, reached] = [list.page, last].map((number) => number.toLocaleString("en"));
  return (
    <Empty
      text={`There is no page ${wanted} of ${things}: the last is page ${reached}${unread}.`}
      action={
        <div className={style["pages"]}>
          {last > 1 && <Button onClick={() => list.set({ page: undefined })}>First page</Button>}
          <Button look="primary" onClick={() => list.set({ page: pageText(last) })}>
            {last > 1 ? "Last page" : "First page"}
          </Button>
        </div>
      }
    />
  );
}

/** The address has a cursor that leads nowhere any more. */
export function DeadCursor({ things, list }: Pick<NoPageProps, "things" | "list">) {
  const page = list.page.toLocaleString("en");
  return (
    <Empty
      text={`This link to page ${page} of ${things} is too old, or was made for another list.`}
      action={
        <div className={style["pages"]}>
          <Button onClick={() => list.set({ page: pageText(list.page) })}>Find page {page}</Button>
          <Button look="primary" onClick={() => list.set({ page: undefined })}>
            First page
          </Button>
        </div>
      }
    />
  );
}

interface FindPageProps<I extends DescMessage, O extends DescMessage> extends Pick<NoPageProps, "things" | "list"> {
  source: Source<I, O>;
  cursors: Cursors;
}

/** Reads a list up to a page that only a cursor leads to, and puts the page's cursor into the address. */
export function FindPage<I extends DescMessage, O extends DescMessage>(props: FindPageProps<I, O>) {
  const { things, list, source, cursors } = props;
  const { page } = list;
  const to = (page - 1) * PAGE;
  const from = cursors.before(page);
  const [read, setRead] = useState(from?.row ?? 0);
  const [waitS, setWaitS] = useState<number>();
  const [end, setEnd] = useState<number>();
  const [error, setError] = useState<unknown>();
  const [attempt, setAttempt] = useState(0);

  // One search at a time; another page, or another list, is another component.
  useEffect(() => {
    const search = new AbortController();
    async function find(): Promise<void> {
      let rows = from?.row ?? 0;
      const options = { signal: search.signal, onWait: setWaitS, to, ...(from && { from }) };
      for await (const piece of readPieces(source, list, options)) {
        rows += piece.rows.length;
        setRead(rows);
        setWaitS(undefined);
        if (piece.next?.row === to) return list.set({ page: pageText(page), cursor: piece.next.cursor }, true);
      }
      setEnd(rows);
    }
    find().catch((reason: unknown) => {
      if (!search.signal.aborted) setError(reason);
    });
    return () => search.abort();
  }, [attempt]);

  if (end !== undefined) return <NoPage things={things} list={list} total={end} byCursor={hasCursors(source.method)} />;
  if (error !== undefined)
    return (
      <div className={style["padded"]}>
        <Failed
          error={error}
          retry={() => {
            setError(undefined);
            setAttempt(attempt + 1);
          }}
        />
      </div>
    );
  const wait = waitS === undefined ? "" : `; the service takes more in ${waitS} s`;
  return (
    <div className={progress["find"]}>
      <label>
        Reading up to page {page.toLocaleString("en")}: {read.toLocaleString("en")} of {to.toLocaleString("en")}{" "}
        {things}
        {wait}
        <progress className={progress["bar"]} max={to} value={read} />
      </label>
      <Button onClick={() => list.set({ page: pageText(LAST_BY_OFFSET) })}>Stop</Button>
    </div>
  );
}

/** A page in the address; the first is not named there. */
export const pageText = (page: number): string | undefined => (page <= 1 ? undefined : String(page));
