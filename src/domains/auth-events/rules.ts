import type { Caller } from "../../platform/caller.ts";
import { auditErrors } from "./errors.ts";

const iso = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d{2}:?\d{2})?)?$/u;

/**
 * Parses an ISO 8601 time; a date alone means 00:00Z, a time without a zone is UTC. Events have whole milliseconds, so
 * a finer time is rounded up to the next one: the same events are before it.
 * @throws {invalid_date_range} when `text` is no such time
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

/**
 * Parses a range: `from` inclusive, `to` exclusive, either may be absent.
 * @throws {invalid_date_range} when one is no ISO 8601 time, or `from` is after `to`
 */
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
 * Returns the organizations whose events a caller requests; null stands for events without an organization. The default
 * is the caller's own organization, for platform admins also events without one. Only platform admins may request
 * another organization.
 * @throws {not_found} when the caller may not read the requested organization's events
 */
export function requestedScope(
  caller: Pick<Caller, "orgUuid" | "isPlatformAdmin">,
  requested: string | undefined,
): (string | null)[] {
  const orgUuid = requested === undefined || requested === "" ? undefined : requested.toLowerCase();
  if (orgUuid !== undefined && orgUuid !== caller.orgUuid && !caller.isPlatformAdmin) throw auditErrors.notFound();
  if (orgUuid !== undefined) return [orgUuid];
  const own = caller.orgUuid === null ? [] : [caller.orgUuid];
  return caller.isPlatformAdmin ? [...own, null] : own;
}

/**
 * Whether a caller may read an event of `orgUuid` by its id: one of their own organization, and for platform admins one
 * without an organization (decisions 2.5).
 */
export function mayRead(caller: Pick<Caller, "orgUuid" | "isPlatformAdmin">, orgUuid: string | null): boolean {
  return orgUuid === null ? caller.isPlatformAdmin : orgUuid === caller.orgUuid;
}

/** Minimum age of an event that is purged, milliseconds. */
export const SHORTEST_RETENTION_MS = 90 * 86_400_000;
