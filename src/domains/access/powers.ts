import type { Caller } from "../../platform/caller.ts";

/** Resource of API key scopes that a permission's resource counts under (decisions 2.5). */
const scopeResources: Readonly<Record<string, string>> = {
  user: "users",
  role: "roles",
  organization: "users",
  session: "sessions",
  event: "events",
  key: "keys",
  credential: "credentials",
  vault: "secrets",
  certificate: "certificates",
  identity: "identities",
  app: "apps",
  install: "installs",
  webhook: "webhooks",
  billing: "billing",
  template: "templates",
  variable: "templates",
  gateway: "gateway",
};

/** What a caller's power is judged by. */
export type Powers = Pick<Caller, "isAdmin" | "canWriteVault" | "scopes">;

/** The scope that covers a permission such as `user:create`; undefined for a permission that none covers. */
export function scopeOf(permission: string): string | undefined {
  const [resource = "", action = ""] = permission.split(":");
  const name = scopeResources[resource];
  return name === undefined ? undefined : `${action === "read" ? "read" : "write"}:${name}`;
}

/**
 * Whether a caller's power reaches every one of these permissions: an administrator's does, but `vault:write` takes
 * that permission itself; a key's only as far as its scopes go (decisions 2.4, 7.7).
 */
export function covers(caller: Powers, permissions: readonly string[]): boolean {
  if (permissions.includes("vault:write") && !caller.canWriteVault) return false;
  if (permissions.length > 0 && !caller.isAdmin) return false;
  const { scopes } = caller;
  if (scopes === null) return true;
  return permissions.every((permission) => {
    const scope = scopeOf(permission);
    const reaches = scopes.has("admin") || (scope !== undefined && scopes.has(scope));
    return reaches && (permission !== "vault:write" || scopes.has("vault:write"));
  });
}
