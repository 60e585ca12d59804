import { dateOf } from "../../platform/clock.ts";
import { createAuthorize } from "./authorize.ts";
import { createCallback } from "./callback.ts";
import { createConnections } from "./connections.ts";
import type { OidcDeps } from "./deps.ts";
import { createExchange } from "./exchange.ts";
import { deleteExpired } from "./flow-store.ts";
import { createProviders } from "./provider.ts";

const DAY_MS = 86_400_000;

/** Single sign-on through OpenID Connect providers. */
export function createOidc(deps: OidcDeps) {
  const providers = createProviders(deps);
  return {
    connections: createConnections(deps),
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
