import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { EVENTS } from "../event-catalogue/index.ts";
import type { EndedBy } from "../event-catalogue/index.ts";
import { createAuthenticate } from "./authenticate.ts";
import { createAutomationTokens } from "./automation-tokens.ts";
import type { ServiceIdentitiesDeps } from "./deps.ts";
import { createIdentities } from "./identities.ts";
import { endAllOf, keepIdentity, lockAllOf } from "./identity-store.ts";
import { KEPT_MS } from "./rules.ts";
import { createSvids } from "./svids.ts";
import { deleteEnded } from "./tidy-store.ts";

/** Service identities, their automation tokens, and the records of their SVIDs. */
export function createServiceIdentities(deps: ServiceIdentitiesDeps) {
  const { database, clock, events, credentials } = deps;
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
    /** Locks the identities of an organization, which are about to end, before what their creator may hold. */
    lockForEnd: lockAllOf,
    /** Ends every identity of an organization with its credentials when the organization is deleted. */
    async endWithOrganization(tx: Tx, orgUuid: string): Promise<void> {
      await endAllOf(tx, orgUuid, dateOf(clock));
    },

    /** Ends every identity of an organization that goes on, with its tokens, SVIDs and API keys. */
    async endAll(tx: Tx, orgUuid: string, { reason, by }: EndedBy): Promise<void> {
      const { identities, tokens, svids } = await endAllOf(tx, orgUuid, dateOf(clock));
      if (identities === 0) return;
      await credentials.ending.keysOfIdentities(tx, orgUuid, { reason, by });
      await events.emit(tx, EVENTS["organization_identities.ended"], {
        by,
        orgUuid,
        resourceId: orgUuid,
        metadata: { identities, revoked_tokens: tokens, revoked_svids: svids, reason },
      });
    },
    // Identities, tokens and SVIDs that ended more than 30 days ago.
    tidy: { serviceIdentities: () => deleteEnded(database.background, dateOf(clock, -KEPT_MS)) },
  };
}

/** Service identities as domains above them and the program use them. */
export type ServiceIdentities = ReturnType<typeof createServiceIdentities>;
