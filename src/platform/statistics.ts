import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { errors } from "./errors.ts";
import { isPrintable, parseIsoTime } from "./iso-time.ts";

/** Lengths of buckets, milliseconds. */
const BUCKET_MS = { hour: 3_600_000, day: 86_400_000 };
/** Maximum number of buckets of one response: a month by the hour (decisions 17.3). */
const MAX_BUCKETS = 744;
/** What is counted when the query names no start. */
const DEFAULT_MS = 7 * BUCKET_MS.day;

/** Length of the buckets, which begin at whole hours or days of UTC. */
export type Bucket = keyof typeof BUCKET_MS;

/** What to count; empty strings count as absent. */
export interface StatisticsQuery {
  /** ISO 8601, inclusive. */
  from?: string | undefined;
  /** ISO 8601, exclusive. */
  to?: string | undefined;
  bucket?: string | undefined;
}

/** A range in buckets. */
export interface StatisticsRange {
  /** Start of the first bucket. */
  from: Date;
  /** Exclusive; may be within the last bucket. */
  to: Date;
  bucket: Bucket;
  /** Starts of all buckets, oldest first. */
  starts: readonly Date[];
}

/** Counts of one bucket. */
export type BucketRow<Counts> = Counts & { start: Date };

function timeOf(text: string, field: string): Date {
  const time = parseIsoTime(text);
  if (time === undefined)
    throw errors.validation({ fields: [{ field, code: "format", message: "must be an RFC 3339 timestamp or date" }] });
  return time;
}

/**
 * The range of a query: by default the last 7 days, by day; the start is rounded down to its bucket.
 * @throws {validation_error} when a time cannot be read or shown, the start is after the end, or there are over 744
 * buckets
 */
export function statisticsRange(query: StatisticsQuery, now: Date): StatisticsRange {
  const bucket: Bucket = query.bucket === "hour" ? "hour" : "day";
  const ms = BUCKET_MS[bucket];
  const to = query.to ? timeOf(query.to, "to") : now;
  const begin = query.from ? timeOf(query.from, "from") : new Date(to.getTime() - DEFAULT_MS);
  if (begin > to)
    throw errors.validation({ fields: [{ field: "from", code: "range", message: "must not be after to" }] });
  const from = Math.floor(begin.getTime() / ms) * ms;
  for (const [field, at] of Object.entries({ from, to: to.getTime() }))
    if (!isPrintable(at))
      throw errors.validation({ fields: [{ field, code: "range", message: "must be in the years 1 to 9999, UTC" }] });
  const count = Math.ceil((to.getTime() - from) / ms);
  if (count > MAX_BUCKETS)
    throw errors.validation({
      fields: [
        { field: "from", code: "range", message: `must leave at most ${MAX_BUCKETS} buckets; this is ${count}` },
      ],
    });
  const starts = Array.from({ length: count }, (_, at) => new Date(from + at * ms));
  return { from: new Date(from), to, bucket, starts };
}

/** The end of the last whole bucket of a range. */
export function wholeUntil({ from, to, bucket }: StatisticsRange): Date {
  const ms = BUCKET_MS[bucket];
  return new Date(Math.max(from.getTime(), Math.floor(to.getTime() / ms) * ms));
}

/** Statistics as the contract shows them: every bucket of the range, with `empty` where nothing was counted. */
export function printStatistics<Counts extends object>(
  { from, to, bucket, starts }: StatisticsRange,
  rows: readonly BucketRow<Counts>[],
  empty: Counts,
) {
  const found = new Map(rows.map((row) => [row.start.getTime(), row]));
  return {
    from: timestampFromDate(from),
    to: timestampFromDate(to),
    bucket,
    data: starts.map((start) => ({ ...empty, ...found.get(start.getTime()), start: timestampFromDate(start) })),
  };
}
