import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react";
import type { ReactNode } from "react";
import style from "./DataTable.module.css";
import type { ListState } from "./use-list.ts";

/** A column of a table. */
export interface Column<R> {
  header: string;
  cell: (row: R) => ReactNode;
  /** Name of the field in `sort`, where the rpc sorts by it. */
  sort?: string;
  /** Value in the CSV file; a column without one is left out there. */
  csv?: (row: R) => string | number | undefined;
  /** Numbers stand at the right. */
  right?: boolean;
}

interface RowsProps<R> {
  caption: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  rowKey: (row: R) => string;
  list?: ListState | undefined;
  actions?: ((row: R) => ReactNode) | undefined;
}

/** A captioned table. Its roles are written out: as cards on a phone it would lose them. */
export function Rows<R>({ caption, columns, rows, rowKey, list, actions }: RowsProps<R>) {
  return (
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
            {columns.map(({ header, cell, right }) => (
              <td key={header} role="cell" data-header={header} className={right === true ? style["right"] : undefined}>
                <div>{cell(row)}</div>
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
  );
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
