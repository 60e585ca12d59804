import type { Caller } from "../../platform/caller.ts";
import { auditErrors } from "./errors.ts";

const iso = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d{2}:?\d{2})?)?$/u;

/**
 * Reads an ISO 8601 time; a date alone is its 00:00Z, a time without zone is UTC. Events have whole milliseconds, so
 * one is before, or not before, a finer time exactly where it is so of the next whole one. Throws `invalid_date_range`.
 */
export function parseTime(text: string): Date {
  const match = iso.exec(text.trim());
  if (match === null) throw auditErrors.invalidDateRange();
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", zone = "Z"] = match;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  const real = !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
  const millis = fraction.padEnd(3, "0").slice(0, 3);
  const finer = /[1-9]/u.test(fraction.slice(3)) ? 1 : 0;
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${millis}${offset}`);
  if (!real || Number.isNaN(time.getTime())) throw auditErrors.invalidDateRange();
  return new Date(time.getTime() + finer);
}

/** Reads a range: `from` inclusive, `to` exclusive, either may be absent. Throws `invalid_date_range`. */
export function parseRange(
  from: string | undefined,
  to: string | undefined,
): { from: Date | undefined; to: Date | undefined } {
  const range = {
    from: from === undefined || from === "" ? undefined : parseTime(from),
    to: to === undefined || to === "" ? undefined : parseTime(to),
  };
  if (range.from !== undefined && range.to !== undefined && range.from > range.to) throw auditErrors.invalidDateRange();
  return range;
}

/**
 * The organizations whose events a caller asks for; null stands for events of no organization.
 * Without a wish it is their own, for platform admins also those of none; a foreign one is for platform admins only.
 */
export function askedScope(
  caller: Pick<Caller, "orgUuid" | "isPlatformAdmin">,
  asked: string | undefined,
): (string | null)[] {
  const wish = asked === undefined || asked === "" ? undefined : asked.toLowerCase();
  if (wish !== undefined && wish !== caller.orgUuid && !caller.isPlatformAdmin) throw auditErrors.notFound();
  if (wish !== undefined) return [wish];
  const own = caller.orgUuid === null ? [] : [caller.orgUuid];
  return caller.isPlatformAdmin ? [...own, null] : own;
}

/**
 * Whether a caller may read an event of `orgUuid` by its id: of their own organization, and platform admins those of
 * none (decisions 2.5).
 */
export function mayRead(caller: Pick<Caller, "orgUuid" | "isPlatformAdmin">, orgUuid: string | null): boolean {
  return orgUuid === null ? caller.isPlatformAdmin : orgUuid === caller.orgUuid;
}

/** No event is removed before it is this old. */
export const SHORTEST_RETENTION_MS = 90 * 86_400_000;
