import { createAuthenticate } from "./authenticate.ts";
import type { AuthenticateDeps } from "./authenticate.ts";
import { createManage } from "./manage.ts";
import type { ManageDeps } from "./manage.ts";

export { credentialsRpc } from "./rpc.ts";

/** What credentials are made of. */
export type CredentialsDeps = AuthenticateDeps & ManageDeps;

/** API keys and SCIM tokens. */
export function createCredentials(deps: CredentialsDeps) {
  return { manage: createManage(deps), authenticate: createAuthenticate(deps), clock: deps.clock };
}

/** Credentials as the program sees them. */
export type Credentials = ReturnType<typeof createCredentials>;
