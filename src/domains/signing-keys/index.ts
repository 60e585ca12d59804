import { dateOf } from "../../platform/clock.ts";
import { createKeyActivities } from "./activities.ts";
import { createJwks } from "./jwks.ts";
import type { JwksDeps } from "./jwks.ts";
import { createManage } from "./manage.ts";
import type { ManageDeps } from "./manage.ts";
import { overlappingKeys } from "./manage-store.ts";
import { forgetUses } from "./store.ts";
import { createSigning } from "./signing.ts";
import type { KeysDeps as SigningDeps } from "./signing.ts";

export type { KeySet } from "./jwks.ts";
export { KEY_OVERLAP } from "./events.ts";
export type { KeyOverlap } from "./events.ts";
export { signingKeysLoginRpc, signingKeysRpc } from "./rpc.ts";

/** Rows one round of tidying removes. */
const TIDIED = 1_000;

/** What signing keys are made of. */
export type KeysDeps = SigningDeps & JwksDeps & ManageDeps;

/** Signing keys of organizations and of the instance. */
export function createSigningKeys(deps: KeysDeps) {
  const signing = createSigning(deps);
  const behind = { ...deps, database: deps.database.background };
  return {
    signing,
    jwks: createJwks(deps),
    manage: createManage(deps, signing),
    activities: createKeyActivities(behind),
    /** Forgets signatures that have expired, a batch at a time. */
    tidy: () => behind.database.transaction((tx) => forgetUses(tx, dateOf(deps.clock), TIDIED)),
    /** Replaced keys, by id, whose overlap is not known to be over: each has a workflow. */
    waiting: (after: string | null, limit: number) => overlappingKeys(behind.database, after, limit),
  };
}

/** Signing keys as other domains see them. */
export type Keys = ReturnType<typeof createSigningKeys>;
