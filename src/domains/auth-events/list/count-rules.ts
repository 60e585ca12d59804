/**
 * One part of a count: whole days, hours or minutes, which have totals, or single events. Open where `from` or `to` is
 * absent.
 */
export interface Part {
  unit: "all" | "day" | "hour" | "minute" | "event";
  from?: Date | undefined;
  to?: Date | undefined;
}

/** Units with totals of their own, longest first, in milliseconds. */
const units = [
  { unit: "day", ms: 86_400_000 },
  { unit: "hour", ms: 3_600_000 },
  { unit: "minute", ms: 60_000 },
] as const;

/**
 * Splits a range (`from` inclusive, `to` exclusive) into the fewest parts with totals, and single events at its edges.
 * `finest` is the shortest unit that has totals.
 */
export function partsOf(from: Date | undefined, to: Date | undefined, finest: "hour" | "minute"): Part[] {
  if (from === undefined && to === undefined) return [{ unit: "all" }];
  return cut(from?.getTime(), to?.getTime(), finest === "minute" ? units : units.slice(0, 2));
}

function cut(from: number | undefined, to: number | undefined, longest: readonly (typeof units)[number][]): Part[] {
  if (from !== undefined && to !== undefined && from >= to) return [];
  const [whole, ...shorter] = longest;
  if (whole === undefined) return [part("event", from, to)];
  const first = from === undefined ? undefined : Math.ceil(from / whole.ms) * whole.ms;
  const last = to === undefined ? undefined : Math.floor(to / whole.ms) * whole.ms;
  if (first !== undefined && last !== undefined && first >= last) return cut(from, to, shorter);
  return [
    ...(first === from ? [] : cut(from, first, shorter)),
    part(whole.unit, first, last),
    ...(last === to ? [] : cut(last, to, shorter)),
  ];
}

function part(unit: Part["unit"], from: number | undefined, to: number | undefined): Part {
  return {
    unit,
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
  };
}
