/** First and last millisecond of a `google.protobuf.Timestamp`, which cannot be printed outside the years 1 to 9999. */
const [FIRST_MS, LAST_MS] = [Date.parse("0001-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];

/** Whether responses can show a time, in milliseconds since 1970. */
export const isPrintable = (ms: number): boolean => ms >= FIRST_MS && ms <= LAST_MS;

const iso = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d{2}:?\d{2})?)?$/u;

/**
 * Parses an ISO 8601 time; a date alone means 00:00Z, a time without a zone is UTC. Events have whole milliseconds, so
 * a finer time is rounded up to the next one: the same events are before it.
 * @returns undefined when `text` is no such time
 */
export function parseIsoTime(text: string): Date | undefined {
  const match = iso.exec(text.trim());
  if (match === null) return undefined;
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", zone = "Z"] = match;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  const real = !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
  const millis = fraction.padEnd(3, "0").slice(0, 3);
  const finer = /[1-9]/u.test(fraction.slice(3)) ? 1 : 0;
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${millis}${offset}`);
  return !real || Number.isNaN(time.getTime()) ? undefined : new Date(time.getTime() + finer);
}
