import type { Caller } from "../../platform/caller.ts";

/** Reasons of an entitlement check, as the interface names them. */
export type Reason = "role:app_admin" | "role:platform_admin" | `entitlement:${string}` | "denied";

/** What an entitlement check found. */
export interface Decision {
  granted: boolean;
  reason: Reason;
  /** Claim that decided; undefined when nothing did. */
  claim: "app_admin" | "platform_admin" | "entitlements" | undefined;
}

const denied: Decision = { granted: false, reason: "denied", claim: undefined };

/**
 * Whether a caller has a feature in an organization (decisions 3.12), by what the token says alone.
 * `administered`: slugs of the apps the caller administers.
 */
export function decide(
  caller: Pick<Caller, "orgUuid" | "isPlatformAdmin" | "entitlements">,
  feature: string,
  orgUuid: string,
  administered: readonly string[],
): Decision {
  const own = caller.orgUuid !== null && caller.orgUuid === orgUuid.toLowerCase();
  if (own && feature.startsWith("app:") && administered.includes(feature.slice(4))) {
    return { granted: true, reason: "role:app_admin", claim: "app_admin" };
  }
  if (caller.isPlatformAdmin) return { granted: true, reason: "role:platform_admin", claim: "platform_admin" };
  if (own && caller.entitlements.includes(feature)) return { granted: true, reason: `entitlement:${feature}`, claim: "entitlements" };
  return denied;
}
