import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react";
import { isValidElement } from "react";
import type { ReactNode } from "react";
import { isoOf, Time } from "../Time.tsx";
import style from "./DataTable.module.css";
import type { ListState } from "./use-list.ts";

interface AnyColumn {
  header: string;
  /** Name of the field in `sort`, where the rpc sorts by it. */
  sort?: string;
  /** Numbers stand at the right. */
  right?: boolean;
}

interface CellColumn<R> extends AnyColumn {
  cell: (row: R) => ReactNode;
  /** Value in the CSV file; a column without one is left out there. */
  csv?: (row: R) => CsvValue | Promise<CsvValue>;
}

type CsvValue = string | number | undefined;

/** A column of moments: relative on the page, ISO 8601 in UTC in the CSV file. */
interface TimeColumn<R> extends AnyColumn {
  time: (row: R) => Timestamp | undefined;
  /** Words for no moment. */
  none?: string;
}

/** A column of a table. */
export type Column<R> = CellColumn<R> | TimeColumn<R>;

function cellOf<R>(column: Column<R>, row: R): ReactNode {
  if ("cell" in column) return column.cell(row);
  return <Time at={column.time(row)} {...(column.none !== undefined && { none: column.none })} />;
}

/** What a row has in a column of the CSV file; undefined for a column that the file has not. */
export function csvOf<R>(column: Column<R>): ((row: R) => CsvValue | Promise<CsvValue>) | undefined {
  return "time" in column ? (row) => isoOf(column.time(row)) : column.csv;
}

interface RowsProps<R> {
  caption: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  rowKey: (row: R) => string;
  list?: ListState | undefined;
  actions?: ((row: R) => ReactNode) | undefined;
}

/** A captioned table in a frame of its own. */
export function Rows<R>(props: RowsProps<R>) {
  return (
    <div className={style["frame"]}>
      <Table {...props} />
    </div>
  );
}

/** A captioned table. Its roles are written out: as cards on a phone it would lose them. */
export function Table<R>({ caption, columns, rows, rowKey, list, actions }: RowsProps<R>) {
  return (
    <div className={style["scroll"]}>
      <table className={style["table"]} role="table">
        <caption>{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <Header key={column.header} column={column} list={list} />
            ))}
            {actions !== undefined && (
              <th role="columnheader" scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row">
              {columns.map((column, nth) => (
                <td
                  key={column.header}
                  role="cell"
                  data-header={column.header}
                  className={column.right === true ? style["right"] : undefined}
                >
                  <Cell isName={nth === 0}>{cellOf(column, row)}</Cell>
                </td>
              ))}
              {actions !== undefined && (
                <td role="cell" data-header="">
                  <div className={style["actions"]}>{actions(row)}</div>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The longest value that stays on one line beside longer ones. */
const SHORT = 14;

/** The longest name of a row, in its first column, that does where there is room. */
const SHORT_NAME = 28;

function Cell({ isName, children }: { isName: boolean; children: ReactNode }) {
  const length = textOf(children)?.length ?? Infinity;
  const look = typeof children === "string" && length <= SHORT ? "whole" : isName && length <= SHORT_NAME && "name";
  return <div className={look === false ? undefined : style[look]}>{children}</div>;
}

/** The text of a cell that is a text, or a link that bears one. */
function textOf(node: ReactNode): string | undefined {
  if (typeof node === "string") return node;
  return isValidElement<{ children?: ReactNode }>(node) ? textOf(node.props.children) : undefined;
}

function Header<R>({ column, list }: { column: Column<R>; list: ListState | undefined }) {
  const { header, sort, right } = column;
  const className = right === true ? style["right"] : undefined;
  if (sort === undefined || list === undefined)
    return (
      <th role="columnheader" scope="col" className={className}>
        {header}
      </th>
    );
  const order = list.sort === sort ? "ascending" : list.sort === `-${sort}` ? "descending" : "none";
  const Arrow = order === "ascending" ? ArrowUp : order === "descending" ? ArrowDown : ChevronsUpDown;
  return (
    <th role="columnheader" scope="col" aria-sort={order} className={className}>
      <button
        type="button"
        className={style["sort"]}
        onClick={() => list.set({ sort: order === "ascending" ? `-${sort}` : sort })}
      >
        {header}
        <Arrow size={13} aria-hidden />
      </button>
    </th>
  );
}
