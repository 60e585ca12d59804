import type { Random } from "../random.ts";

/** Maximum `Retry-After` that is honoured. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Returns a new event id, the `webhook-id` of every delivery attempt. */
export function newEventId(random: Pick<Random, "uuid">): string {
  return `evt_${random.uuid().replaceAll("-", "")}`;
}

/**
 * Parses `Retry-After` in both forms (RFC 9110 §10.2.3). Returns milliseconds from now, at most 24 h; 0 without one.
 */
export function retryAfterMs(value: string | undefined, nowMs: number): number {
  if (value === undefined) return 0;
  const wait = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - nowMs;
  return !Number.isNaN(wait) ? Math.min(Math.max(wait, 0), MAX_RETRY_AFTER_MS) : 0;
}
