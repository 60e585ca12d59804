import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { failureOf } from "../../session/failures.ts";
import { transport } from "../../session/session.ts";
import { Button } from "../Button.tsx";
import { Empty, Failed, Skeleton } from "../States.tsx";
import { alertToast } from "../toasts.ts";
import { csvOf, download } from "./csv.ts";
import style from "./DataTable.module.css";
import { Rows } from "./Rows.tsx";
import type { Column } from "./Rows.tsx";
import { Tools } from "./Tools.tsx";
import type { Filter } from "./Tools.tsx";
import { useList } from "./use-list.ts";
import type { ListState } from "./use-list.ts";

export type { Column, Filter };

const PAGE = 50;
const MOST_OFFSET = 10_000;

/** What the page has to ask for: the state of the list, and which part. */
export interface Part extends Pick<ListState, "q" | "sort" | "filters"> {
  limit: number;
  offset: number;
}

interface DataTableProps<I extends DescMessage, O extends DescMessage, R> {
  /** Name of the table. */
  caption: string;
  /** Plural of a row, in lower case: `members`. */
  things: string;
  method: DescMethodUnary<I, O>;
  request: (part: Part) => MessageInitShape<I>;
  rows: (answer: MessageShape<O>) => readonly R[];
  rowKey: (row: R) => string;
  columns: readonly Column<R>[];
  /** Whether the rpc takes `q`. */
  searchable?: boolean;
  filters?: readonly Filter[];
  defaultSort?: string;
  /** Buttons at the end of a row. */
  actions?: (row: R) => ReactNode;
  /** What is said where there is no row at all. */
  empty: { text: string; action?: ReactNode; api?: string };
  /** Milliseconds between readings while the page is visible. */
  refetchMs?: number;
}

/** A list of the service as a table: search, filters, sorting and page are in the address. */
export function DataTable<I extends DescMessage, O extends DescMessage, R>(props: DataTableProps<I, O, R>) {
  const { caption, things, method, columns, searchable = false, filters = [], empty, request } = props;
  const list = useList(
    filters.map(({ name }) => name),
    props.defaultSort ?? "",
  );
  const offset = (list.page - 1) * PAGE;
  const tooFar = offset > MOST_OFFSET;
  const answer = useQuery(method, request({ ...list, limit: PAGE, offset: tooFar ? 0 : offset }), {
    placeholderData: keepPreviousData,
    ...(props.refetchMs !== undefined && { refetchInterval: props.refetchMs }),
  });
  const busy = useDelayed(answer.isPlaceholderData);
  const rows = answer.data === undefined ? undefined : props.rows(answer.data);
  const page = answer.data as { total?: number; totalIsEstimate?: boolean } | undefined;
  const total = page?.total ?? rows?.length ?? 0;
  const narrowed = list.q !== "" || Object.keys(list.filters).length > 0;
  const isBeyond = list.page > 1 && (tooFar || rows?.length === 0) && page?.total !== 0;
  const isEmpty = rows?.length === 0 && !narrowed && !isBeyond;

  async function save(): Promise<void> {
    try {
      const all: R[] = [];
      for (let at = 0; at <= MOST_OFFSET; at += 200) {
        const part = request({ ...list, limit: 200, offset: at });
        const { message } = await transport.unary(method, undefined, undefined, undefined, part);
        const more = props.rows(message);
        all.push(...more);
        if (more.length < 200) break;
      }
      const saved = columns.filter(({ csv }) => csv !== undefined);
      const cells = all.map((row) => saved.map(({ csv }) => csv?.(row)));
      const headers = saved.map(({ header }) => header);
      download(`${things.replaceAll(" ", "-")}.csv`, "text/csv;charset=utf-8", csvOf(headers, cells));
    } catch (error) {
      alertToast(failureOf(error));
    }
  }

  return (
    <div className={style["list"]}>
      {!isEmpty && (
        <Tools things={things} list={list} searchable={searchable} filters={filters}>
          {columns.some(({ csv }) => csv !== undefined) && (
            <Button onClick={() => void save()} disabled={rows === undefined || rows.length === 0}>
              Download CSV
            </Button>
          )}
        </Tools>
      )}
      <div className={style["frame"]} aria-busy={busy || undefined}>
        {rows === undefined || (answer.isPlaceholderData && rows.length === 0) ? (
          answer.error === null ? (
            <Padded>
              <Skeleton lines={6} />
            </Padded>
          ) : (
            <Padded>
              <Failed error={answer.error} retry={() => void answer.refetch()} />
            </Padded>
          )
        ) : isBeyond ? (
          <Beyond things={things} list={list} total={total} />
        ) : isEmpty ? (
          <Empty {...empty} />
        ) : rows.length === 0 ? (
          <Empty text={`No ${things} match.`} />
        ) : (
          <div className={style["scroll"]}>
            <Rows
              caption={caption}
              columns={columns}
              rows={rows}
              rowKey={props.rowKey}
              list={list}
              actions={props.actions}
            />
          </div>
        )}
      </div>
      {rows !== undefined && rows.length > 0 && !isBeyond && (
        <div className={style["foot"]}>
          <span>
            {(offset + 1).toLocaleString("en")}–{(offset + rows.length).toLocaleString("en")} of{" "}
            {page?.totalIsEstimate === true && "about "}
            {total.toLocaleString("en")}
            {offset + PAGE > MOST_OFFSET && "; narrow by date to see more"}
          </span>
          <span className={style["pages"]}>
            <Button small disabled={list.page === 1} onClick={() => list.set({ page: pageText(list.page - 1) })}>
              Previous page
            </Button>
            <Button
              small
              disabled={offset + rows.length >= total || offset + PAGE > MOST_OFFSET}
              onClick={() => list.set({ page: pageText(list.page + 1) })}
            >
              Next page
            </Button>
          </span>
        </div>
      )}
    </div>
  );
}

const pageText = (page: number): string | undefined => (page <= 1 ? undefined : String(page));

interface BeyondProps {
  things: string;
  list: ListState;
  total: number;
}

/** The address names a page after the last one: says so, and leads back. */
function Beyond({ things, list, total }: BeyondProps) {
  const reached = Math.trunc(MOST_OFFSET / PAGE) + 1;
  const last = Math.min(Math.max(1, Math.ceil(total / PAGE)), reached);
  const more = last === reached ? "; narrow by date to see more" : "";
  return (
    <Empty
      text={`There is no page ${list.page.toLocaleString("en")} of ${things}: the last is page ${last}${more}.`}
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

function Padded({ children }: { children: ReactNode }) {
  return <div className={style["padded"]}>{children}</div>;
}

/** True when a state has lasted 150 ms. */
function useDelayed(active: boolean): boolean {
  const [shown, setShown] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    clearTimeout(timer.current);
    if (active) timer.current = setTimeout(() => setShown(true), 150);
    else setShown(false);
    return () => clearTimeout(timer.current);
  }, [active]);
  return shown;
}
