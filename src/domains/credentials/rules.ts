import type { Caller } from "../../platform/caller.ts";

/** What API keys can be given access to (decisions 2.5). */
const RESOURCES = [
  "users",
  "roles",
  "sessions",
  "events",
  "keys",
  "credentials",
  "secrets",
  "certificates",
  "identities",
  "apps",
  "installs",
  "webhooks",
  "billing",
  "templates",
  "gateway",
] as const;

const SCOPES: ReadonlySet<string> = new Set([
  "admin",
  "vault:write",
  ...RESOURCES.flatMap((resource) => [`read:${resource}`, `write:${resource}`]),
]);

/** Scopes of a request that do not exist. */
export function unknownScopes(scopes: readonly string[]): string[] {
  return scopes.filter((scope) => !SCOPES.has(scope));
}

/** Whether a caller may give a key these scopes: nobody grants beyond their own present power. */
export function mayGrant(caller: Caller, scopes: readonly string[]): boolean {
  return scopes.every((scope) => {
    if (scope === "vault:write") return caller.canWriteVault;
    return caller.isAdmin && (caller.scopes === null || caller.scopes.has(scope) || caller.scopes.has("admin"));
  });
}

/** Days a credential lasts unless it says otherwise (decisions 6.4). */
export const USUAL_DAYS = 365;
export const DAY_MS = 86_400_000;
/** Days a revoked credential stays listed. */
export const LISTED_MS = 30 * DAY_MS;
/** API keys an organization can have at a time. */
export const MOST_API_KEYS = 1_000;
/** SCIM tokens an organization can have at a time. */
export const MOST_SCIM_TOKENS = 5;

/** `active`, `revoked` or `expired`. */
export function statusOf(row: { revoked_at: Date | null; expires_at: Date }, nowMs: number): string {
  if (row.revoked_at !== null) return "revoked";
  return row.expires_at.getTime() <= nowMs ? "expired" : "active";
}
