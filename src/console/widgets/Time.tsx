import { Tooltip } from "@base-ui/react/tooltip";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useEffect, useState } from "react";
import { usePreferences } from "../session/preferences.ts";
import style from "./Small.module.css";

// In numbers: "next year" would be said of 365 days, and "yesterday" of 35 hours.
const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** `3 minutes ago`, `in 2 days`. */
export function ago(at: Date, now = Date.now()): string {
  const seconds = Math.round((at.getTime() - now) / 1000);
  if (Math.abs(seconds) < 45) return seconds > 10 ? `in ${seconds} seconds` : "just now";
  const [unit, size] = UNITS.find(([, least]) => Math.abs(seconds) >= least) ?? (["minute", 60] as const);
  return relative.format(Math.round(seconds / size), unit);
}

/** A moment: relative, with the local time and UTC on hover and focus. */
export function Time({ at, none = "never" }: { at: Timestamp | Date | undefined; none?: string }) {
  const { timeZone } = usePreferences();
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (at === undefined) return <>{none}</>;
  const date = at instanceof Date ? at : timestampDate(at);
  const local = date.toLocaleString("en-GB", {
    dateStyle: "medium",
    timeStyle: "long",
    ...(timeZone !== "local" && { timeZone }),
  });
  return (
    <Tooltip.Root>
      <Tooltip.Trigger
        delay={200}
        render={<time dateTime={date.toISOString()} tabIndex={0} className={style["time"]} />}
        aria-label={undefined}
      >
        {ago(date)}
      </Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Positioner className={style["floating"]} sideOffset={6}>
          <Tooltip.Popup className={style["tip"]}>
            {local}
            <br />
            {date.toISOString().replace("T", " ").slice(0, 19)} UTC
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

/** A time for a file: ISO 8601 in UTC. */
export const isoOf = (at: Timestamp | undefined): string | undefined =>
  at === undefined ? undefined : timestampDate(at).toISOString();
