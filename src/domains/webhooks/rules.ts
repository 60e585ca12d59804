import type { FieldViolation } from "../../platform/errors.ts";

/** Webhooks an organization may have, disabled ones included (decisions 11.4). */
export const MOST_WEBHOOKS = 1_000;
/** Unbroken failure after which an endpoint is disabled. */
export const GIVE_UP_MS = 5 * 24 * 3_600_000;
/** How long deliveries are kept and can be repeated. */
export const KEPT_MS = 30 * 24 * 3_600_000;
/** Reading and writing around an attempt, milliseconds; a database that is away fails within 10 s. */
export const ATTEMPT_SLACK_MS = 12_000;
/** Wait between two looks for due first attempts, and for deliveries to clean up. */
export const POLL_MS = 500;

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
