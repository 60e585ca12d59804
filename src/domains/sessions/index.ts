import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import { limitKey } from "../../platform/outgoing/address.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import type { Audit } from "../auth-events/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import type { AnnounceSessions } from "./announcing.ts";
import { createAccounts } from "./accounts.ts";
import { createBearer } from "./bearer.ts";
import type { BearerDeps } from "./bearer.ts";
import { createInventories, rememberedMs } from "./inventory.ts";
import { createEnding } from "./ending.ts";
import { createLastSeen } from "./last-seen.ts";
import { createLiveness } from "./liveness.ts";
import { forgetChanges } from "./liveness-store.ts";
import { createOpen } from "./open.ts";
import type { SessionTtls } from "./open.ts";
import { createOwnSessions } from "./own-sessions.ts";
import { createRefresh } from "./refresh.ts";
import { forgetSessions, lastProofs, markSecondFactor, markStepUp, signInAddresses } from "./store.ts";
import { createTokens } from "./tokens.ts";

export type { OpenedPair, OpenedSession, OpenRequest, SessionTtls } from "./open.ts";
export type { OwnSession } from "./own-sessions.ts";
export type { AccessClaims } from "./tokens.ts";
export { sessionsLoginRpc, sessionsRpc } from "./rpc.ts";

/** What sessions are made of. */
export interface SessionsDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid" | "bytes">;
  log: Log;
  /** Seals with the instance key. */
  sealer: Sealer;
  audit: Audit;
  /** Tells the webhooks of an organization. */
  announce: AnnounceSessions;
  access: Access;
  keys: Keys;
  /** The apps that the holder of a token administers now; of the marketplace. */
  administeredApps: BearerDeps["administeredApps"];
  config: {
    /** Public URL of the service: the issuer of its tokens. */
    baseUrl: string;
    ttls: SessionTtls;
  };
}

/** Sessions: opened, refreshed, checked on every request, ended. */
export function createSessions(deps: SessionsDeps) {
  const { config } = deps;
  const tokens = createTokens({ ...deps, issuer: config.baseUrl });
  const opening = { ...deps, tokens, ttls: config.ttls };
  const lastSeen = createLastSeen(deps);
  const own = createOwnSessions(deps);
  const refreshing = createRefresh(opening);
  const open = createOpen(opening);
  const { authenticate, holds } = createBearer({
    ...deps,
    issuer: config.baseUrl,
    liveness: createLiveness(deps),
    lastSeen,
  });
  return {
    /** Access tokens, for step-up. */
    tokens,
    /** Sessions for people who have proven who they are. */
    open,
    own,
    /** Sessions that end with a membership or an organization. */
    ending: createEnding(deps),
    /** Live sessions of organizations and devices, for those who may see and end them. */
    inventories: createInventories(deps),
    /** Accounts that share a device. */
    accounts: createAccounts({ ...deps, open, authenticate }),
    /** Proofs of who somebody is within a session: noting them, and when they were last given. */
    proofs: { markSecondFactor, markStepUp, last: lastProofs },
    ...refreshing,
    /** Whether an address, as limits count it, has signed in the person behind an email within 30 days. */
    signedInFrom: async (emailKey: string, address: string): Promise<boolean> =>
      (await signInAddresses(deps.database, emailKey, dateOf(deps.clock, -rememberedMs))).some(
        (one) => limitKey(one) === address,
      ),
    /** The caller behind an access token; for the gate. */
    authenticate,
    /** Whether an access token that was accepted before still holds, for streams. Throws `unauthorized`. */
    holds,
    lastSeen,
    tidy: {
      // Sessions that ended more than 30 days ago.
      sessions: () => forgetSessions(deps.database.background, dateOf(deps.clock, -rememberedMs)),
      // Changes that every instance has read.
      sessionChanges: () => forgetChanges(deps.database.background),
    },
    /** Writes what is still to be written. */
    close: (): Promise<void> => lastSeen.close(),
  };
}

/** Sessions as other domains see them. */
export type Sessions = ReturnType<typeof createSessions>;
