import type { ScimDeps } from "./deps.ts";
import { createUsers } from "./users/users.ts";

/** SCIM 2.0 provisioning (RFC 7643, RFC 7644, RFC 9865; decisions 8.6 to 8.10). */
export function createScim(deps: ScimDeps) {
  return {
    users: createUsers(deps),
    /** Base URL of an organization's SCIM. */
    baseUrlOf: (orgUuid: string): string => `${deps.config.baseUrl}/scim/v2/organizations/${orgUuid.toLowerCase()}`,
  };
}

/** SCIM as its service uses it. */
export type Scim = ReturnType<typeof createScim>;
