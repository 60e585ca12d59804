import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import type { CSSProperties, ReactNode } from "react";
import { Button } from "./Button.tsx";
import style from "./Chart.module.css";
import { Section } from "./Page.tsx";
import { Plot } from "./Plot.tsx";
import { Answer } from "./States.tsx";
import { Table } from "./table/Rows.tsx";
import { PERIODS } from "./use-period.ts";
import type { Period } from "./use-period.ts";
import { plural } from "./words.ts";

/** What one colour of the bars stands for. */
export interface Series<B> {
  label: string;
  colour: "good" | "bad" | "warn" | "accent";
  /** Value of a bucket; undefined where nothing was measured. */
  value: (bucket: B) => number | undefined;
}

interface ChartProps<T, B> {
  title: string;
  about?: ReactNode;
  /** State of `usePeriod`, which the query of the page also reads. */
  period: Period;
  /** Answer of a `…/stats` rpc, a bucket a day. */
  of: UseQueryResult<T, unknown>;
  buckets: (answer: T) => readonly B[];
  series: readonly Series<B>[];
  /** `stacked`: the series add up. `overlaid`: each starts at zero, the greatest first, such as percentiles. */
  bars?: "stacked" | "overlaid";
  /** Unit of the values, such as `ms`; without one they are counts. */
  unit?: string;
  /** What a series comes to over the period; without it counts add up, and of measurements the greatest is shown. */
  total?: "sum" | "max";
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Bars a day in UTC over 7, 30 or 90 days; the same figures as a table for whoever prefers or needs them. */
export function Chart<T, B extends { start?: Timestamp | undefined }>(props: ChartProps<T, B>) {
  const { title, about, period, of, buckets, series, bars = "stacked", unit } = props;
  const { total = unit === undefined ? "sum" : "max" } = props;
  const [asTable, setAsTable] = useState(false);
  const [hovered, setHovered] = useState<number>();
  return (
    <Section
      title={title}
      about={about}
      actions={
        <div className={style["tools"]}>
          <select
            className={style["period"]}
            aria-label={`Days of ${title}`}
            value={period.days}
            onChange={({ target }) => period.set(Number(target.value))}
          >
            {PERIODS.map((days) => (
              <option key={days} value={days}>
                {days} days
              </option>
            ))}
          </select>
          <Button small aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            Show as table
          </Button>
        </div>
      }
    >
      <Answer of={of}>
        {(answer) => {
          const list = buckets(answer);
          const values = series.map(({ value }) => list.map((bucket) => value(bucket)));
          if (asTable)
            return (
              <div className={style["table"]} tabIndex={0}>
                <Table
                  caption={title}
                  rows={list}
                  rowKey={({ start }) => String(start?.seconds)}
                  columns={[
                    { header: "Day (UTC)", cell: ({ start }) => dateOf(start).toISOString().slice(0, 10) },
                    ...series.map(({ label, value }) => ({
                      header: label,
                      cell: (bucket: B) => inUnit(value(bucket), unit),
                      right: true,
                    })),
                  ]}
                />
              </div>
            );
          const words = series.map(({ label }, at) => `${label} ${inUnit(totalOf(values[at] ?? [], total), unit)}`);
          return (
            <>
              <Plot
                label={`${title}, ${plural(list.length, "day")} in UTC. ${words.join(", ")}.`}
                starts={list.map(({ start }) => dateOf(start).getTime() / 1000)}
                values={values}
                colours={series.map(({ colour }) => colour)}
                stacked={bars === "stacked"}
                unit={unit}
                onHover={setHovered}
              />
              <ul className={style["legend"]}>
                {series.map(({ label, colour }, at) => (
                  <li key={label} style={{ "--series": `var(--${colour})` } as CSSProperties}>
                    {label}{" "}
                    <strong>
                      {inUnit(hovered === undefined ? totalOf(values[at] ?? [], total) : values[at]?.[hovered], unit)}
                    </strong>
                  </li>
                ))}
                {hovered !== undefined && list[hovered] !== undefined && day.format(dateOf(list[hovered].start))}
              </ul>
            </>
          );
        }}
      </Answer>
    </Section>
  );
}

const dateOf = (start: Timestamp | undefined): Date => (start === undefined ? new Date(0) : timestampDate(start));

function totalOf(values: readonly (number | undefined)[], total: "sum" | "max"): number | undefined {
  const known = values.filter((value) => value !== undefined);
  if (total === "sum") return known.reduce((all, value) => all + value, 0);
  return known.length === 0 ? undefined : Math.max(...known);
}

const inUnit = (value: number | undefined, unit: string | undefined): string =>
  value === undefined ? "–" : `${value.toLocaleString("en")}${unit === undefined ? "" : ` ${unit}`}`;
