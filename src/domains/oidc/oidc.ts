import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { causedByPerson, EVENTS } from "../event-catalogue/index.ts";
import { createAuthorize } from "./authorize.ts";
import { createCallback } from "./callback.ts";
import { createConnectionTest } from "./connection-test.ts";
import { countConnections } from "./connection-store.ts";
import { createConnections } from "./connections.ts";
import type { OidcDeps } from "./deps.ts";
import { oidcErrors } from "./errors.ts";
import { createExchange } from "./exchange.ts";
import { deleteExpired } from "./flow-store.ts";
import { createLogout } from "./logout.ts";
import { deleteIdentities } from "./identity-store.ts";
import { createProviders } from "./provider.ts";

const DAY_MS = 86_400_000;

/** Single sign-on through OpenID Connect providers. */
export function createOidc(deps: OidcDeps) {
  const providers = createProviders(deps);
  return {
    connections: createConnections(deps),
    testConnection: createConnectionTest(deps, providers),
    /** @throws {conflict} when an organization has no connection */
    async demandAnyConnection(tx: Tx, orgUuid: string): Promise<void> {
      if ((await countConnections(tx, orgUuid)) === 0) throw oidcErrors.nothingToRequire();
    },
    /**
     * Ends the links of a person whose account somebody else may have made, so that no identity signs in to it any
     * more. The person's sessions must have ended before: a link in flight is committed by then.
     */
    async endLinks(
      tx: Tx,
      person: { userUuid: string; email: string },
      reason: string,
      info: RequestInfo,
    ): Promise<void> {
      for (const { connectionUuid, orgUuid } of await deleteIdentities(tx, person.userUuid))
        await deps.events.emit(tx, EVENTS["oidc_connection.unlinked"], {
          by: causedByPerson(person, info),
          orgUuid,
          resourceId: connectionUuid,
          metadata: { connection_uuid: connectionUuid, user_uuid: person.userUuid, reason },
        });
    },
    authorize: createAuthorize(deps, providers),
    callback: createCallback(deps, providers),
    backchannelLogout: createLogout(deps, providers),
    ...createExchange(deps),
    tidy: {
      // Sign-ins and session tokens that expired over a day ago.
      oidcSignIns: () => deleteExpired(deps.database.background, dateOf(deps.clock, -DAY_MS)),
    },
  };
}

/** Single sign-on as other domains see it. */
export type Oidc = ReturnType<typeof createOidc>;
