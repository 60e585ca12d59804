import type { Caller } from "../../platform/caller.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import { administers } from "../access/index.ts";
import type { Webhook } from "./entities.ts";

/** Maximum webhooks of an organization, disabled ones included (decisions 11.4). */
export const MAX_WEBHOOKS = 1_000;
/** How many of them may be of apps, whose administrators need not be administrators of the organization. */
export const MAX_APP_WEBHOOKS = 500;
/** Unbroken failure after which an endpoint is disabled. */
export const GIVE_UP_MS = 5 * 24 * 3_600_000;
/** Minimum time between attempts at a delivery outside its schedule, while the endpoint responds to others. */
export const EXTRA_PAUSE_MS = 5 * 60_000;
/** How long deliveries are kept and can be repeated. */
export const RETENTION_MS = 30 * 24 * 3_600_000;
/** Time for reads and writes around an attempt; without the database they fail within 10 s. */
export const ATTEMPT_SLACK_MS = 12_000;
/** Interval of the pollers of first attempts and of the cleanup. */
export const POLL_MS = 500;

/** The app of a webhook, and the organization that publishes it. */
export interface AppOfWebhook {
  appId: string;
  orgUuid: string;
}

/** Whether the caller may manage a webhook. */
export function mayManage(caller: Caller, webhook: Pick<Webhook, "scope" | "appId" | "orgUuid">): boolean {
  const { appId, orgUuid } = webhook;
  if (webhook.scope === "app") return typeof appId === "string" && administers(caller, { appId, orgUuid });
  return caller.isAdmin && caller.orgUuid === orgUuid;
}

/** The violation of an app's webhook that subscribes to events other than those of apps and installs, if any. */
export function appEventsViolation(events: readonly string[]): FieldViolation | undefined {
  const foreign = events.find((event) => event !== "*" && !event.startsWith("app.") && !event.startsWith("install."));
  if (foreign === undefined) return undefined;
  return { field: "events", code: "in", message: `An app's webhook hears app.*, install.* and *, not ${foreign}.` };
}

/** The violation of a webhook with the scope `app` but no app, or with an app but another scope, if any. */
export function appIdViolation(scope: "org" | "app", appId: string | undefined): FieldViolation | undefined {
  if ((scope === "app") === Boolean(appId)) return undefined;
  return scope === "app"
    ? { field: "app_id", code: "required", message: "is required for the scope app" }
    : { field: "app_id", code: "not_allowed", message: "goes with the scope app alone" };
}

/**
 * Wait before the attempt that follows `tries` failed ones, milliseconds, with jitter of ±20 %; undefined when the
 * schedule has ended. `chance` is between 0 and 1.
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
