/** What a count adds up: whole days or hours that have totals, or events one by one. Without `from` or `to` it is open there. */
export interface Part {
  unit: "all" | "day" | "hour" | "event";
  from?: Date | undefined;
  to?: Date | undefined;
}

const DAY = 86_400_000;
const HOUR = 3_600_000;

/**
 * Cuts a range (`from` inclusive, `to` exclusive) into the fewest parts with totals and single events at its edges.
 * With `hours` false there are totals of days only.
 */
export function partsOf(from: Date | undefined, to: Date | undefined, hours: boolean): Part[] {
  if (from === undefined && to === undefined) return [{ unit: "all" }];
  return cut(from?.getTime(), to?.getTime(), hours ? [DAY, HOUR] : [DAY]);
}

function cut(from: number | undefined, to: number | undefined, units: readonly number[]): Part[] {
  if (from !== undefined && to !== undefined && from >= to) return [];
  const [unit, ...smaller] = units;
  if (unit === undefined) return [part("event", from, to)];
  const first = from === undefined ? undefined : Math.ceil(from / unit) * unit;
  const last = to === undefined ? undefined : Math.floor(to / unit) * unit;
  if (first !== undefined && last !== undefined && first >= last) return cut(from, to, smaller);
  return [
    ...(first === from ? [] : cut(from, first, smaller)),
    part(unit === DAY ? "day" : "hour", first, last),
    ...(last === to ? [] : cut(last, to, smaller)),
  ];
}

function part(unit: Part["unit"], from: number | undefined, to: number | undefined): Part {
  return { unit, from: from === undefined ? undefined : new Date(from), to: to === undefined ? undefined : new Date(to) };
}
