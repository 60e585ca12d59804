import { useState } from "react";

/** The days that a chart can show. */
export const PERIODS = [7, 30, 90] as const;

const DAY_MS = 86_400_000;

/** The days that the charts of a page show, today included. */
export interface Period {
  readonly days: number;
  /** Start of the first day in UTC, as the `…/stats` routes take it. */
  readonly from: string;
  set(days: number): void;
}

export function usePeriod(first: (typeof PERIODS)[number] = 7): Period {
  const [days, set] = useState<number>(first);
  return { days, from: startOf(days, Date.now()), set };
}

/** Start of the first of so many days in UTC, the last of which is the day of `now`. */
export const startOf = (days: number, now: number): string =>
  new Date((Math.floor(now / DAY_MS) - days + 1) * DAY_MS).toISOString();
