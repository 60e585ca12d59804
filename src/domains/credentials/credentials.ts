import { dateOf } from "../../platform/clock.ts";
import { createApiKeys } from "./api-keys.ts";
import type { ManageDeps } from "./api-keys.ts";
import { createAuthenticate } from "./authenticate.ts";
import type { AuthenticateDeps } from "./authenticate.ts";
import { createEnding } from "./ending.ts";
import { LISTED_MS } from "./rules.ts";
import { createScimTokens } from "./scim-tokens.ts";
import { deleteEnded } from "./tidy-store.ts";

/** Dependencies of credentials. */
export type CredentialsDeps = AuthenticateDeps & ManageDeps;

/** API keys and SCIM tokens. */
export function createCredentials(deps: CredentialsDeps) {
  const ending = createEnding(deps);
  return {
    manage: {
      ...createApiKeys(deps),
      ...createScimTokens(deps),
      endWithMembership: ending.withMembership,
      endWithOrganization: ending.withOrganization,
    },
    ending,
    authenticate: createAuthenticate(deps),
    clock: deps.clock,
    // Keys and tokens that ended more than 30 days ago.
    tidy: { credentials: () => deleteEnded(deps.database.background, dateOf(deps.clock, -LISTED_MS)) },
  };
}

/** Credentials as domains above them and the program use them. */
export type Credentials = ReturnType<typeof createCredentials>;
