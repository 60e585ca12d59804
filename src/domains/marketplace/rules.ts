import type { FieldViolation } from "../../platform/errors.ts";

/** States of an app (decisions 9.1). */
export type AppStatus = "draft" | "published" | "rejected" | "archived";
/** States of an install (interface, Marketplace install). */
export type InstallStatus = "provisioning" | "active" | "suspended" | "deprovisioning" | "deprovisioned";

/** What a publisher can be asked to do or told. */
export type InstallStepKind = "provision" | "deprovision" | "suspend" | "resume";

/** The message each step sends. */
export const STEP_MESSAGE: Readonly<Record<InstallStepKind, string>> = {
  provision: "install.provisioning",
  deprovision: "install.deprovisioning",
  suspend: "install.suspended",
  resume: "install.resumed",
};

/** A plan of an app. */
export interface AppPlan {
  plan_id: string;
  name: string;
  price_cents: number;
  interval: string;
}

/** The install states that count as live: one a time for each organization and app. */
export const LIVE_INSTALL: readonly InstallStatus[] = ["provisioning", "active", "suspended", "deprovisioning"];

const MOVES: Readonly<Record<InstallStatus, readonly InstallStatus[]>> = {
  provisioning: ["active", "deprovisioning", "deprovisioned"],
  active: ["suspended", "deprovisioning"],
  suspended: ["active", "deprovisioning"],
  deprovisioning: ["deprovisioned"],
  deprovisioned: [],
};

/** Whether an install may go from one state to another. */
export function mayMove(from: InstallStatus, to: InstallStatus): boolean {
  return MOVES[from].includes(to);
}

const RESERVED_SLUGS: ReadonlySet<string> = new Set([
  "admin",
  "admins",
  "api",
  "app",
  "apps",
  "approve",
  "archive",
  "browse",
  "install",
  "installs",
  "listing",
  "listings",
  "marketplace",
  "new",
  "plans",
  "publish",
  "search",
  "webhook",
  "webhooks",
]);
const SLUG = /^[a-z0-9](?:-?[a-z0-9])*$/;

/** Why a slug cannot be had, if so (decisions 9.1): 3–63 characters, no reserved word. */
export function slugViolation(slug: string): FieldViolation | undefined {
  if (slug.length < 3 || slug.length > 63 || !SLUG.test(slug)) {
    return {
      field: "slug",
      code: "pattern",
      message: "3 to 63 characters: lower-case letters and digits, single hyphens between them.",
    };
  }
  if (RESERVED_SLUGS.has(slug)) return { field: "slug", code: "reserved", message: "This slug is reserved." };
  return undefined;
}

/** The plan an app without plans of its own has. */
export function defaultPlan(basePriceCents: number): AppPlan {
  return { plan_id: "default", name: "Default", price_cents: basePriceCents, interval: "month" };
}

/** An app's plans after its base price changed: the plan it has for want of others costs the base price. */
export function plansAfter(plans: AppPlan[], before: number, after: number): AppPlan[] {
  const [only, ...others] = plans;
  const { plan_id: id, name, price_cents: price, interval } = defaultPlan(before);
  const isDefault =
    others.length === 0 &&
    only?.plan_id === id &&
    only.name === name &&
    only.price_cents === price &&
    only.interval === interval;
  return isDefault ? [defaultPlan(after)] : plans;
}

/** Which plan bears the id of one before it, if any: an id names one plan of its app. */
export function plansViolation(plans: readonly AppPlan[]): FieldViolation | undefined {
  const again = plans.findIndex((plan, nth) => plans.findIndex(({ plan_id: id }) => id === plan.plan_id) < nth);
  return again < 0
    ? undefined
    : { field: `plans[${again}].plan_id`, code: "duplicate", message: "must not repeat the plan_id of another plan" };
}

/** What a publisher's answer to `install.provisioning` or `install.deprovisioning` means. */
export type PublisherAnswer = "done" | "accepted" | "refused" | "retry";

/** Meaning of a status for provisioning (decisions 9.4). */
export function provisioningAnswer(status: number): PublisherAnswer {
  if (status === 200 || status === 201) return "done";
  if (status === 202) return "accepted";
  return status === 422 || status === 410 ? "refused" : "retry";
}

/** Meaning of a status for deprovisioning (decisions 9.5). */
export function deprovisioningAnswer(status: number): PublisherAnswer {
  if (status === 202) return "accepted";
  return (status >= 200 && status < 300) || status === 404 || status === 410 ? "done" : "retry";
}

/** Meaning of a status for a notice of suspension or resumption. */
export function noticeAnswer(status: number): PublisherAnswer {
  return status >= 200 && status < 300 ? "done" : "retry";
}

/**
 * An endpoint URL a publisher reports is kept only when it is http(s), as it stands, and at most 2,048 characters
 * (decisions 9.4).
 */
export function acceptableEndpoint(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 2048) return undefined;
  // A parser forgives spaces, line breaks and missing slashes; whoever follows the link may read it otherwise.
  return /^https?:\/\/[^\s\\\p{Cc}]+$/iu.test(value) && URL.canParse(value) ? value : undefined;
}

/** What a timeline says of an endpoint URL that was reported and not kept; empty otherwise. */
export function endpointNote(value: unknown): string {
  const dropped = value !== undefined && value !== null && acceptableEndpoint(value) === undefined;
  return dropped ? "; its endpoint_url is not an http(s) URL of at most 2,048 characters and was not kept" : "";
}

/** What a publisher says for people, at most 500 characters of it; empty where it says nothing. */
export function readMessage(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 500).toWellFormed() : "";
}

/** A cloud target a publisher reports with an activation (decisions 9.7); undefined for anything else. */
export function readCloudTarget(value: unknown): { provider: string; region: string } | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { provider, region } = value as Record<string, unknown>;
  const fits = (text: unknown): text is string => typeof text === "string" && text.length >= 1 && text.length <= 64;
  return fits(provider) && fits(region) ? { provider, region } : undefined;
}

/** What a line of an install's timeline can tell (decisions 9.3). */
export type TimelineEvent =
  | "requested"
  | "attempt_failed"
  | "accepted"
  | "active"
  | "failed"
  | "suspended"
  | "resumed"
  | "deprovisioning"
  | "forced"
  | "deprovisioned"
  | "notice_failed";
