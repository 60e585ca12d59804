import { dateOf } from "../../platform/clock.ts";
import { createAuthenticate } from "./authenticate.ts";
import type { AuthenticateDeps } from "./authenticate.ts";
import { createEnding } from "./ending.ts";
import { createManage } from "./manage.ts";
import type { ManageDeps } from "./manage.ts";
import { LISTED_MS } from "./rules.ts";
import { forgetEnded } from "./tidy-store.ts";

export { credentialsRpc } from "./rpc.ts";

/** What credentials are made of. */
export type CredentialsDeps = AuthenticateDeps & ManageDeps;

/** API keys and SCIM tokens. */
export function createCredentials(deps: CredentialsDeps) {
  return {
    manage: createManage(deps),
    ending: createEnding(deps),
    authenticate: createAuthenticate(deps),
    clock: deps.clock,
    // Keys and tokens that ended more than 30 days ago.
    tidy: { credentials: () => forgetEnded(deps.database.background, dateOf(deps.clock, -LISTED_MS)) },
  };
}

/** Credentials as the program sees them. */
export type Credentials = ReturnType<typeof createCredentials>;
