import type { FieldViolation } from "../../../platform/errors.ts";
import { hasControlCharacters, isBlank } from "../../../platform/names.ts";

/** States of an app (decisions 9.1). */
export type AppStatus = "draft" | "published" | "rejected" | "archived";
/** What the price of a plan pays for; `once` is paid a single time. */
export type PlanInterval = "month" | "year" | "once";

/** A plan of an app. */
export interface AppPlan {
  plan_id: string;
  name: string;
  price_cents: number;
  interval: PlanInterval;
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

/** An app's name as it is stored. */
export const storedName = (name: string): string => name.normalize("NFC").trim();

/** Returns why an app's name is refused, if it is. */
export function nameViolation(name: string): FieldViolation | undefined {
  const stored = storedName(name);
  if (isBlank(stored)) return { field: "name", code: "required", message: "must not be blank" };
  if (hasControlCharacters(stored))
    return { field: "name", code: "pattern", message: "must not have control characters" };
  return undefined;
}

/** Returns why a slug is refused, if it is (decisions 9.1). */
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

/** The plan of an app that is published without plans. */
export function defaultPlan(basePriceCents: number): AppPlan {
  return { plan_id: "default", name: "Default", price_cents: basePriceCents, interval: "month" };
}

/** An app's plans after a change of its base price: the default plan follows the price, others stay. */
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

/** Returns the violation of the first plan that repeats the id of one before it, if any. */
export function plansViolation(plans: readonly AppPlan[]): FieldViolation | undefined {
  const again = plans.findIndex((plan, nth) => plans.findIndex(({ plan_id: id }) => id === plan.plan_id) < nth);
  return again < 0
    ? undefined
    : { field: `plans[${again}].plan_id`, code: "duplicate", message: "must not repeat the plan_id of another plan" };
}
