import type { Random } from "../random.ts";

/** Longest `Retry-After` that is honoured. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** A new event id: `webhook-id` of every attempt to tell of it. */
export function newEventId(random: Pick<Random, "uuid">): string {
  return `evt_${random.uuid().replaceAll("-", "")}`;
}

/** `Retry-After` in both forms (RFC 9110, 10.2.3), as milliseconds from now; at most 24 h, 0 when there is none. */
export function retryAfterMs(value: string | undefined, nowMs: number): number {
  if (value === undefined) return 0;
  const wait = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - nowMs;
  return !Number.isNaN(wait) ? Math.min(Math.max(wait, 0), MAX_RETRY_AFTER_MS) : 0;
}
