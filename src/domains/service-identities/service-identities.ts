import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { createAuthenticate } from "./authenticate.ts";
import { createAutomationTokens } from "./automation-tokens.ts";
import type { ServiceIdentitiesDeps } from "./deps.ts";
import { createIdentities } from "./identities.ts";
import { endAllOf, keepIdentity } from "./identity-store.ts";
import { KEPT_MS } from "./rules.ts";
import { createSvids } from "./svids.ts";
import { deleteEnded } from "./tidy-store.ts";

/** Service identities, their automation tokens, and the records of their SVIDs. */
export function createServiceIdentities(deps: ServiceIdentitiesDeps) {
  const { database, clock } = deps;
  const identities = createIdentities(deps);
  return {
    identities: {
      ...identities,
      /** A living identity of an organization, which neither ends nor changes its role before the transaction ends. */
      keep: keepIdentity,
    },
    tokens: createAutomationTokens(deps, identities),
    svids: createSvids(deps),
    ...createAuthenticate(deps),
    clock,
    /** Ends every identity of an organization with its credentials when the organization is deleted. */
    endWithOrganization: (tx: Tx, orgUuid: string): Promise<void> => endAllOf(tx, orgUuid, dateOf(clock)),
    // Identities, tokens and SVIDs that ended more than 30 days ago.
    tidy: { serviceIdentities: () => deleteEnded(database.background, dateOf(clock, -KEPT_MS)) },
  };
}

/** Service identities as domains above them and the program use them. */
export type ServiceIdentities = ReturnType<typeof createServiceIdentities>;
