import type { Caller } from "../../platform/caller.ts";
import { parseIsoTime } from "../../platform/iso-time.ts";
import { auditErrors } from "./errors.ts";

/**
 * Parses an ISO 8601 time.
 * @throws {invalid_date_range} when `text` is no such time
 */
function parseTime(text: string): Date {
  const time = parseIsoTime(text);
  if (time === undefined) throw auditErrors.invalidDateRange();
  return time;
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
