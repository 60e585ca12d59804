import type { Caller } from "../../platform/caller.ts";

/** Resources of scopes (decisions 2.5). */
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

/** Returns the scopes that do not exist. */
export function unknownScopes(scopes: readonly string[]): string[] {
  return scopes.filter((scope) => !SCOPES.has(scope));
}

/** Whether a caller may give a key these scopes: only those they have themselves. */
export function mayGrant(caller: Caller, scopes: readonly string[]): boolean {
  return scopes.every((scope) => {
    if (scope === "vault:write") return caller.canWriteVault;
    return caller.isAdmin && (caller.scopes === null || caller.scopes.has(scope) || caller.scopes.has("admin"));
  });
}

/** Default lifetime of a credential, days (decisions 6.4). */
export const DEFAULT_DAYS = 365;
export const DAY_MS = 86_400_000;
/** How long a revoked credential remains listed. */
export const LISTED_MS = 30 * DAY_MS;
/** Maximum live API keys of an organization. */
export const MAX_API_KEYS = 1_000;
/** Maximum live SCIM tokens of an organization. */
export const MAX_SCIM_TOKENS = 5;

/** `active`, `revoked` or `expired`. */
export function statusOf(row: { revokedAt: Date | null; expiresAt: Date }, nowMs: number): string {
  if (row.revokedAt !== null) return "revoked";
  return row.expiresAt.getTime() <= nowMs ? "expired" : "active";
}
