import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { failureOf } from "../../session/failures.ts";
import { Empty, Failed, Outdated, Skeleton } from "../States.tsx";
import { DeadCursor, FindPage, NoPage } from "./Beyond.tsx";
import style from "./DataTable.module.css";
import { DownloadCsv } from "./DownloadCsv.tsx";
import { Foot } from "./Foot.tsx";
import { hasCursors, isSearchable, MOST_OFFSET, PAGE, requestOf, rowsOf } from "./parts.ts";
import type { Paged, RowOf, Source } from "./parts.ts";
import { Table } from "./Rows.tsx";
import type { Column } from "./Rows.tsx";
import { Tools } from "./Tools.tsx";
import type { Filter } from "./Tools.tsx";
import { useCursors } from "./use-cursors.ts";
import { useList } from "./use-list.ts";

export type { Column, Filter };

interface DataTableProps<I extends DescMessage, O extends DescMessage> extends Source<I, O> {
  /** Name of the table. */
  caption: string;
  /** Plural of a row, in lower case: `members`. */
  things: string;
  rowKey: (row: RowOf<O>) => string;
  columns: readonly Column<RowOf<O>>[];
  filters?: readonly Filter[];
  defaultSort?: string;
  /** Buttons at the end of a row. */
  actions?: (row: RowOf<O>) => ReactNode;
  /** What is said where there is no row at all. */
  empty: { text: string; action?: ReactNode; api?: string };
  /** Milliseconds between readings while the page is visible. */
  refetchMs?: number;
}

/** A list of the service as a table: search, filters, sorting and page are in the address. */
export function DataTable<I extends DescMessage, O extends DescMessage>(props: DataTableProps<I, O>) {
  const { caption, things, method, columns, filters = [], empty } = props;
  const list = useList(
    filters.map(({ name }) => name),
    props.defaultSort ?? "",
  );
  const cursors = useCursors(list);
  const searchable = isSearchable(method);
  const byCursor = hasCursors(method);
  const offset = (list.page - 1) * PAGE;
  const isFar = offset > MOST_OFFSET;
  const cursor = isFar && byCursor ? list.cursor : undefined;
  const input = requestOf(props, { ...list, cursor, limit: PAGE, offset: isFar ? 0 : offset });
  const answer = useQuery(method, input, {
    placeholderData: keepPreviousData,
    ...(props.refetchMs !== undefined && {
      refetchInterval: ({ state }) => !isRefused(state.error) && (props.refetchMs as number),
    }),
  });
  const isOld = answer.isPlaceholderData;
  const busy = useDelayed(isOld);
  const rows = answer.data === undefined ? undefined : rowsOf(answer.data);
  const page = answer.data as Paged | undefined;
  const total = page?.total ?? rows?.length ?? 0;
  const narrowed = list.q !== "" || Object.keys(list.filters).length > 0;
  const isPastEnd = page?.totalIsEstimate !== true && offset >= total;
  /** Only a cursor leads there, and it is not known. */
  const isToFind = isFar && byCursor && cursor === undefined && !isPastEnd;
  // The rows of the page before stay until those of this one have come.
  const shown = useRef(list.page);
  if (!isOld) shown.current = isToFind ? 1 : list.page;
  const isBeyond =
    list.page > 1 && page?.total !== 0 && (rows?.length === 0 || (isFar && cursor === undefined && !isToFind));
  const isEmpty = rows?.length === 0 && !narrowed && !isBeyond;
  const next = isOld ? undefined : page?.nextCursor;
  useEffect(() => {
    cursors.note(list.page, cursor);
    cursors.note(list.page + 1, next);
  }, [list.page, cursor, next]);

  return (
    <div className={style["list"]}>
      {!isEmpty && (
        <Tools things={things} list={list} searchable={searchable} filters={filters}>
          {columns.some((column) => "csv" in column) && (
            <DownloadCsv
              source={props}
              list={list}
              things={things}
              columns={columns}
              disabled={rows === undefined || rows.length === 0}
            />
          )}
        </Tools>
      )}
      <Outdated of={answer} />
      <div className={style["frame"]} aria-busy={busy || undefined}>
        {rows === undefined || (isOld && rows.length === 0) ? (
          answer.error === null ? (
            <Padded>
              <Skeleton lines={6} />
            </Padded>
          ) : cursor !== undefined && failureOf(answer.error).code === "invalid_cursor" ? (
            <DeadCursor things={things} list={list} />
          ) : (
            <Padded>
              <Failed error={answer.error} retry={() => void answer.refetch()} />
            </Padded>
          )
        ) : isBeyond ? (
          <NoPage
            things={things}
            list={list}
            total={page?.totalIsEstimate === true ? undefined : total}
            byCursor={byCursor && page?.totalIsEstimate !== true}
          />
        ) : isToFind ? (
          <FindPage
            key={JSON.stringify([list.q, list.sort, list.filters, list.page])}
            things={things}
            list={list}
            source={props}
            cursors={cursors}
          />
        ) : isEmpty ? (
          <Empty {...empty} />
        ) : rows.length === 0 ? (
          <Empty text={`No ${things} match.`} />
        ) : (
          <Table
            caption={caption}
            columns={columns}
            rows={rows}
            rowKey={props.rowKey}
            list={list}
            actions={props.actions}
          />
        )}
      </div>
      {rows !== undefined && rows.length > 0 && !isBeyond && !isToFind && (
        <Foot
          list={list}
          shown={shown.current}
          rows={rows.length}
          page={page}
          cursors={cursors}
          next={next}
          isOld={isOld}
          byCursor={byCursor}
          narrow={narrowWords(filters, searchable)}
        />
      )}
    </div>
  );
}

/** Whether asking again is no use: the caller may not read it any more, or it is gone. */
const isRefused = (error: unknown): boolean =>
  error !== null && [Code.PermissionDenied, Code.NotFound].includes(ConnectError.from(error).code);

/** How a person finds what is far down in a list. */
function narrowWords(filters: readonly Filter[], searchable: boolean): string {
  if (filters.some(({ isDay }) => isDay === true)) return "narrow by date";
  return searchable ? "search" : "filter";
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
