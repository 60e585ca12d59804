import type { DescMessage } from "@bufbuild/protobuf";
import { useEffect, useRef, useState } from "react";
import { failureOf } from "../../session/failures.ts";
import type { Failure } from "../../session/failures.ts";
import { Button } from "../Button.tsx";
import { alertToast, toast } from "../toasts.ts";
import { csvRow, download } from "./csv.ts";
import style from "./Progress.module.css";
import { readPieces, TooManyRows } from "./parts.ts";
import type { Part, RowOf, Source } from "./parts.ts";
import { csvOf } from "./Rows.tsx";
import type { Column } from "./Rows.tsx";

interface DownloadCsvProps<I extends DescMessage, O extends DescMessage> {
  source: Source<I, O>;
  list: Pick<Part, "q" | "sort" | "filters">;
  things: string;
  columns: readonly Column<RowOf<O>>[];
  disabled: boolean;
}

/** How far a download is. */
interface Progress {
  rows: number;
  total: number | undefined;
  /** Seconds that the service wants to be left alone. */
  waitS?: number;
}

/**
 * Saves every row that the filters let through. A list of more than one request shows how far it is, and can be
 * stopped. When a request fails, no file is saved.
 */
export function DownloadCsv<I extends DescMessage, O extends DescMessage>(props: DownloadCsvProps<I, O>) {
  const { source, list, things, columns, disabled } = props;
  const [progress, setProgress] = useState<Progress>();
  const job = useRef<AbortController>(undefined);
  useEffect(() => () => job.current?.abort(), []);

  async function save(): Promise<void> {
    const running = new AbortController();
    const { signal } = running;
    job.current = running;
    const saved = columns.flatMap((column) => {
      const value = csvOf(column);
      return value === undefined ? [] : [{ header: column.header, value }];
    });
    const parts = [csvRow(saved.map(({ header }) => header))];
    let now: Progress = { rows: 0, total: undefined };
    const onWait = (waitS: number): void => setProgress({ ...now, waitS });
    try {
      for await (const { rows, total, next } of readPieces(source, list, { signal, onWait })) {
        for (const row of rows) parts.push(csvRow(await Promise.all(saved.map(async ({ value }) => value(row)))));
        now = { rows: now.rows + rows.length, total };
        if (next !== undefined) setProgress(now);
      }
      const name = `${things.replaceAll(" ", "-")}.csv`;
      download(name, "text/csv;charset=utf-8", ...parts);
      toast(`${now.rows.toLocaleString("en")} ${things} saved in ${name}`);
    } catch (error) {
      if (signal.aborted) return;
      alertToast(failureOfDownload(error, things, now.rows));
    } finally {
      if (job.current === running) {
        job.current = undefined;
        setProgress(undefined);
      }
    }
  }

  function stop(): void {
    job.current?.abort();
    toast("The download was stopped; no file is saved");
  }

  return (
    <>
      {progress !== undefined && (
        <span className={style["download"]}>
          <progress
            className={style["bar"]}
            aria-label={`Download of ${things}`}
            max={Math.max(progress.total ?? 0, progress.rows)}
            value={progress.rows}
          />
          {progress.rows.toLocaleString("en")}
          {progress.total !== undefined && ` of ${progress.total.toLocaleString("en")}`}
          {progress.waitS !== undefined && `; the service takes more in ${progress.waitS} s`}
        </span>
      )}
      <Button
        disabled={disabled && progress === undefined}
        onClick={() => (progress === undefined ? job.current === undefined && void save() : stop())}
      >
        {progress === undefined ? "Download CSV" : "Stop download"}
      </Button>
    </>
  );
}

function failureOfDownload(error: unknown, things: string, rows: number): Pick<Failure, "message" | "requestId"> {
  const count = `${rows.toLocaleString("en")} ${things}`;
  if (error instanceof TooManyRows)
    return {
      message: `No file is saved: there are more than the ${count} that can be read. Narrow the list first.`,
      requestId: undefined,
    };
  const { message, requestId } = failureOf(error);
  return { message: `No file is saved: the download failed after ${count}. ${message}`, requestId };
}
