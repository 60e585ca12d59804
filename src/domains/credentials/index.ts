import { dateOf } from "../../platform/clock.ts";
import { createAuthenticate } from "./authenticate.ts";
import type { AuthenticateDeps } from "./authenticate.ts";
import { createManage } from "./manage.ts";
import type { ManageDeps } from "./manage.ts";
import { LISTED_MS } from "./rules.ts";
import { forgetRevoked } from "./store.ts";

export { credentialsRpc } from "./rpc.ts";

/** What credentials are made of. */
export type CredentialsDeps = AuthenticateDeps & ManageDeps;

/** API keys and SCIM tokens. */
export function createCredentials(deps: CredentialsDeps) {
  return {
    manage: createManage(deps),
    authenticate: createAuthenticate(deps),
    clock: deps.clock,
    /** Forgets some of the keys and tokens that were revoked so long ago that no list shows them; answers how many. Safe on every instance. */
    tidy: (): Promise<number> => forgetRevoked(deps.database, dateOf(deps.clock, -LISTED_MS)),
  };
}

/** Credentials as the program sees them. */
export type Credentials = ReturnType<typeof createCredentials>;
