import type { Caller } from "../../platform/caller.ts";
import type { AppFacts, AppWithInstall } from "./app-store.ts";

/** Reasons of an entitlement check, as the interface names them. */
export type Reason = "role:app_admin" | "role:platform_admin" | `entitlement:${string}` | "denied";

/** Result of an entitlement check. */
export interface Decision {
  granted: boolean;
  reason: Reason;
  /** Claim that decided; undefined when nothing did. */
  claim: "app_admin" | "platform_admin" | "entitlements" | "org" | undefined;
}

/** Whether the caller's token does not contain all entitlements that it was issued for. */
export function lacksEntitlements({ claims }: Pick<Caller, "claims">): boolean {
  const truncated = claims?.["truncated"];
  return Array.isArray(truncated) && truncated.includes("entitlements");
}

/**
 * Whether a caller has a feature in an organization (decisions 3.12), by what the token says alone. Administrators of
 * an app have `app:<slug>` and platform admins everything, whatever the organization; anybody else only in their own.
 * `administered`: slugs of the apps the caller administers.
 */
export function decide(
  caller: Pick<Caller, "orgUuid" | "isPlatformAdmin" | "entitlements">,
  feature: string,
  orgUuid: string,
  administered: readonly string[],
): Decision {
  if (feature.startsWith("app:") && administered.includes(feature.slice(4)))
    return { granted: true, reason: "role:app_admin", claim: "app_admin" };
  if (caller.isPlatformAdmin) return { granted: true, reason: "role:platform_admin", claim: "platform_admin" };
  if (caller.orgUuid === null || caller.orgUuid !== orgUuid.toLowerCase())
    return { granted: false, reason: "denied", claim: "org" };
  if (caller.entitlements.includes(feature))
    return { granted: true, reason: `entitlement:${feature}`, claim: "entitlements" };
  return { granted: false, reason: "denied", claim: undefined };
}

/** What decided a check. */
export interface Explanation {
  decidedBy: "claim" | "grant" | "install" | "none";
  claim?: string;
  appId?: string;
  grantId?: string;
  installId?: string;
  stepUpRequired: boolean;
}

/**
 * What decided a check: the claim of the token, and the grant or install that stands behind it. No feature needs an
 * elevated token.
 */
export function explain({ claim }: Decision, app: AppFacts | undefined): Explanation {
  const base = { stepUpRequired: false };
  if (claim === undefined) return { decidedBy: "none", ...base };
  if (app === undefined || claim === "platform_admin" || claim === "org") return { decidedBy: "claim", claim, ...base };
  const { appId, grantId, installId } = app;
  if (claim === "app_admin" && grantId !== null) return { decidedBy: "grant", claim, appId, grantId, ...base };
  if (claim === "entitlements" && installId !== null) return { decidedBy: "install", claim, appId, installId, ...base };
  return { decidedBy: "claim", claim, appId, ...base };
}

/** Whether a caller administers an app, by their token, as owner of its organization too (decisions 9.1). */
export function administers(
  caller: Pick<Caller, "isPlatformAdmin" | "appAdmin" | "isOwner" | "orgUuid">,
  { appId, orgUuid }: { appId: string; orgUuid: string },
): boolean {
  return (
    caller.isPlatformAdmin ||
    caller.appAdmin.includes(appId.toLowerCase()) ||
    (caller.isOwner && caller.orgUuid === orgUuid)
  );
}

/** Whether a caller may see an app: everybody a published one; others who administer, publish or have installed it. */
export function canSeeApp(caller: Parameters<typeof administers>[0], appId: string, app: AppWithInstall): boolean {
  return (
    app.status === "published" ||
    app.installId !== null ||
    caller.orgUuid === app.orgUuid ||
    administers(caller, { appId, orgUuid: app.orgUuid })
  );
}
