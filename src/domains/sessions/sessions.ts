import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Cursors } from "../../platform/cursors.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import { limitKey, limitKeyRange } from "../../platform/outgoing/address.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Liveness } from "../liveness/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import { createAccounts } from "./accounts.ts";
import { createBearer } from "./bearer.ts";
import type { BearerDeps } from "./bearer.ts";
import { createEnding } from "./ending.ts";
import { createInventories } from "./inventory.ts";
import { createLastSeen } from "./last-seen.ts";
import { createOpen } from "./open.ts";
import type { SessionTtls } from "./open.ts";
import { createOwnSessions } from "./own-sessions.ts";
import { createRefresh } from "./refresh.ts";
import { RETENTION_MS } from "./rules.ts";
import { lastProofs, markSecondFactor, markStepUp, purgeSessions, signInAddresses } from "./store.ts";
import { createOrganizationSwitch } from "./switch.ts";
import { createTokens } from "./tokens.ts";
import { vouchedOrg } from "./vouching.ts";

/** Dependencies of sessions. */
export interface SessionsDeps {
  database: Database;
  clock: Clock;
  cursors: Cursors;
  random: Pick<Random, "uuid" | "bytes">;
  log: Log;
  /** Seals with the instance key. */
  sealer: Sealer;
  events: Pick<Events, "emit" | "notify" | "recordFailure">;
  access: Pick<Access, "standing" | "standingOf" | "grants">;
  keys: Keys;
  /** Whether credentials are live. */
  liveness: Liveness;
  /** The apps that the holder of a token administers now. */
  administeredApps: BearerDeps["administeredApps"];
  config: {
    /** Public URL of the service: the issuer of its tokens. */
    baseUrl: string;
    ttls: SessionTtls;
  };
}

/** Sessions: opened, refreshed, checked on every request, ended. */
export function createSessions(deps: SessionsDeps) {
  const { database, clock, config } = deps;
  const tokens = createTokens({ ...deps, issuer: config.baseUrl });
  const opening = { ...deps, tokens, ttls: config.ttls };
  const lastSeen = createLastSeen(deps);
  const open = createOpen(opening);
  const { authenticate, recheck } = createBearer({
    ...deps,
    issuer: config.baseUrl,
    lastSeen,
  });
  return {
    /** Access tokens, for step-up. */
    tokens,
    /** Opens sessions for people who have proven who they are. */
    open,
    /** A person's own sessions. */
    own: createOwnSessions(deps),
    /** The end of sessions with a membership or an organization. */
    ending: createEnding(deps),
    /** Live sessions of organizations and devices, for callers who may see and end them. */
    inventories: createInventories(deps),
    /** Accounts that share a device. */
    accounts: createAccounts({ ...deps, open, authenticate }),
    /** A session of the caller in another of their organizations. */
    switchOrganization: createOrganizationSwitch({ ...deps, open }),
    /** Proofs of who the person is, given within a session. */
    proofs: { markSecondFactor, markStepUp, last: lastProofs, vouchedOrg },
    ...createRefresh(opening),
    /** Whether an address, as limits count it, has signed in the person behind an email within 30 days. */
    signedInFrom: async (emailKey: string, address: string): Promise<boolean> =>
      (await signInAddresses(database, emailKey, dateOf(clock, -RETENTION_MS), limitKeyRange(address))).some(
        (one) => limitKey(one) === address,
      ),
    /** The caller behind an access token; for the gate. */
    authenticate,
    /**
     * The present caller behind an access token that was accepted before, for streams.
     * @throws {unauthorized} when the token is no longer valid
     */
    recheck,
    lastSeen,
    tidy: {
      // Sessions that ended more than 30 days ago.
      sessions: () => purgeSessions(database.background, dateOf(clock, -RETENTION_MS)),
    },
    /** Writes the pending last-seen times. */
    close: (): Promise<void> => lastSeen.close(),
  };
}

/** Sessions as other domains see them. */
export type Sessions = ReturnType<typeof createSessions>;
