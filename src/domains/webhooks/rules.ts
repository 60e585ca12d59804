import type { FieldViolation } from "../../platform/errors.ts";

/** Webhooks an organization may have, disabled ones included (decisions 11.4). */
export const MOST_WEBHOOKS = 1_000;
/** Largest body that is sent, bytes (decisions 11.2). */
export const MAX_BODY = 20_000;
/** Unbroken failure after which an endpoint is disabled. */
export const GIVE_UP_MS = 5 * 24 * 3_600_000;
/** How long deliveries are kept and can be repeated. */
export const KEPT_MS = 30 * 24 * 3_600_000;
/** Reading and writing around an attempt, milliseconds; a database that is away fails within 10 s. */
export const ATTEMPT_SLACK_MS = 12_000;

/** Events an app's webhook may hear: those of the app and of its installs. */
export function appEventsViolation(events: readonly string[]): FieldViolation | undefined {
  const foreign = events.find((event) => event !== "*" && !event.startsWith("app.") && !event.startsWith("install."));
  if (foreign === undefined) return undefined;
  return { field: "events", code: "in", message: `An app's webhook hears app.*, install.* and *, not ${foreign}.` };
}

/** An app is named for the scope `app`, and for no other: a webhook that hears more than was meant is refused. */
export function appIdViolation(scope: "org" | "app", appId: string | undefined): FieldViolation | undefined {
  if ((scope === "app") === Boolean(appId)) return undefined;
  return scope === "app"
    ? { field: "app_id", code: "required", message: "is required for the scope app" }
    : { field: "app_id", code: "not_allowed", message: "goes with the scope app alone" };
}

/**
 * Wait before the attempt that follows `tries` failed ones, with jitter of ±20 %, or undefined when the schedule is
 * over.
 */
export function nextWait(
  schedule: readonly number[],
  tries: number,
  retryAfterMs: number,
  chance: number,
): number | undefined {
  const wait = schedule[tries];
  return wait === undefined ? undefined : Math.max(Math.round(wait * (0.8 + chance * 0.4)), retryAfterMs);
}

/** The body of an event, at most 20,000 bytes: the longest texts of `data` are cut until it fits. */
export function bodyOf(event: {
  type: string;
  timestamp: Date;
  id: string;
  orgUuid: string;
  data: Readonly<Record<string, unknown>>;
}): string {
  const data = structuredClone(event.data) as Record<string, unknown>;
  const print = (): string =>
    JSON.stringify({
      type: event.type,
      timestamp: event.timestamp.toISOString(),
      id: event.id,
      org_uuid: event.orgUuid,
      data,
    });
  for (let body = print(); ; body = print()) {
    if (Buffer.byteLength(body) <= MAX_BODY || !cutLongest(data)) return body;
  }
}

/** Halves the longest text somewhere in a value; false when there is none to cut. */
function cutLongest(root: Record<string, unknown>): boolean {
  let longest: { holder: Record<string, unknown>; key: string; length: number } | undefined;
  const visit = (holder: Record<string, unknown>): void => {
    for (const [key, value] of Object.entries(holder)) {
      if (typeof value === "string" && value.length > 64 && value.length > (longest?.length ?? 0))
        longest = { holder, key, length: value.length };
      else if (typeof value === "object" && value !== null) visit(value as Record<string, unknown>);
    }
  };
  visit(root);
  if (longest === undefined) return false;
  const text = String(longest.holder[longest.key]);
  longest.holder[longest.key] = `${text.slice(0, Math.floor(text.length / 2)).toWellFormed()}…`;
  return true;
}
