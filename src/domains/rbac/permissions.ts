import type { Caller } from "../../platform/caller.ts";
import { rbacErrors } from "./errors.ts";

/** The resource of API key scopes that covers each resource of permissions (decisions 2.5). */
const SCOPE_RESOURCES: Readonly<Record<string, string>> = {
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

/** The scope that covers a permission such as `user:create`; undefined for a permission that none covers. */
export function scopeOf(permission: string): string | undefined {
  const [resource = "", action = ""] = permission.split(":");
  const name = SCOPE_RESOURCES[resource];
  return name === undefined ? undefined : `${action === "read" ? "read" : "write"}:${name}`;
}

/**
 * Whether a caller may grant every one of these permissions: administrators may, but `vault:write` needs that
 * permission itself; a key only what its scopes cover (decisions 2.4, 7.7).
 */
export function covers(
  caller: Pick<Caller, "isAdmin" | "canWriteVault" | "scopes">,
  permissions: readonly string[],
): boolean {
  if (permissions.includes("vault:write") && !caller.canWriteVault) return false;
  if (permissions.length > 0 && !caller.isAdmin) return false;
  const { scopes } = caller;
  if (scopes === null) return true;
  return permissions.every((permission) => {
    const scope = scopeOf(permission);
    const isCovered = scopes.has("admin") || (scope !== undefined && scopes.has(scope));
    return isCovered && (permission !== "vault:write" || scopes.has("vault:write"));
  });
}

/** @throws {forbidden} when the permissions go beyond the caller's own power */
export function demandGrantable(caller: Caller, permissions: readonly string[]): void {
  if (!covers(caller, permissions)) throw rbacErrors.abovePower();
}
