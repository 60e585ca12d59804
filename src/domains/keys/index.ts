import { createKeyActivities } from "./activities.ts";
import { createJwks } from "./jwks.ts";
import type { JwksDeps } from "./jwks.ts";
import { createManage } from "./manage.ts";
import type { ManageDeps } from "./manage.ts";
import { overlappingKeys } from "./manage-store.ts";
import { createSigning } from "./signing.ts";
import type { KeysDeps as SigningDeps } from "./signing.ts";

export type { KeySet } from "./jwks.ts";
export { KEY_OVERLAP } from "./events.ts";
export type { KeyOverlap } from "./events.ts";
export { keysLoginRpc, signingKeysRpc } from "./rpc.ts";

/** What signing keys are made of. */
export type KeysDeps = SigningDeps & JwksDeps & ManageDeps;

/** Signing keys of organizations and of the instance. */
export function createKeys(deps: KeysDeps) {
  const signing = createSigning(deps);
  return {
    signing,
    jwks: createJwks(deps),
    manage: createManage(deps, signing),
    activities: createKeyActivities(deps),
    /** Replaced keys, by id, whose overlap is not known to be over: each has a workflow. */
    waiting: (after: string | null, limit: number) => overlappingKeys(deps.database, after, limit),
  };
}

/** Signing keys as other domains see them. */
export type Keys = ReturnType<typeof createKeys>;
