import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { createAuthorize } from "./authorize.ts";
import { createCallback } from "./callback.ts";
import { countConnections } from "./connection-store.ts";
import { createConnections } from "./connections.ts";
import type { OidcDeps } from "./deps.ts";
import { oidcErrors } from "./errors.ts";
import { createExchange } from "./exchange.ts";
import { deleteExpired } from "./flow-store.ts";
import { createProviders } from "./provider.ts";

const DAY_MS = 86_400_000;

/** Single sign-on through OpenID Connect providers. */
export function createOidc(deps: OidcDeps) {
  const providers = createProviders(deps);
  return {
    connections: createConnections(deps),
    /** @throws {conflict} when an organization has no connection */
    async demandAnyConnection(tx: Tx, orgUuid: string): Promise<void> {
      if ((await countConnections(tx, orgUuid)) === 0) throw oidcErrors.nothingToRequire();
    },
    authorize: createAuthorize(deps, providers),
    callback: createCallback(deps, providers),
    ...createExchange(deps),
    tidy: {
      // Sign-ins and session tokens that expired over a day ago.
      oidcSignIns: () => deleteExpired(deps.database.background, dateOf(deps.clock, -DAY_MS)),
    },
  };
}

/** Single sign-on as other domains see it. */
export type Oidc = ReturnType<typeof createOidc>;
