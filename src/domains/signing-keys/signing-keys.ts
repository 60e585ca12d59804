import { dateOf } from "../../platform/clock.ts";
import { createKeyActivities } from "./activities.ts";
import { createJwks } from "./jwks.ts";
import type { JwksDeps } from "./jwks.ts";
import { createManage } from "./manage.ts";
import type { ManageDeps } from "./manage.ts";
import { overlappingKeys } from "./manage-store.ts";
import { createSignPayload } from "./sign-payload.ts";
import { createSigning } from "./signing.ts";
import type { SigningDeps } from "./signing.ts";
import { deleteRetiredKeys, deleteUses } from "./store.ts";

/** Rows of one batch of the tidy task. */
const TIDY_BATCH = 1_000;
/** How long a key is kept after its overlap, as ended credentials are, milliseconds. */
const KEPT_MS = 30 * 86_400_000;

/** Dependencies of signing keys. */
export type KeysDeps = SigningDeps & JwksDeps & ManageDeps & Parameters<typeof createSignPayload>[0];

/** Signing keys of organizations and of the instance. */
export function createSigningKeys(deps: KeysDeps) {
  const signing = createSigning(deps);
  const background = { ...deps, database: deps.database.background };
  return {
    signing,
    jwks: createJwks(deps),
    manage: { ...createManage(deps, signing), ...createSignPayload(deps, signing) },
    activities: createKeyActivities(background),
    tidy: {
      // Records of signatures that have expired.
      signatures: () => background.database.transaction((tx) => deleteUses(tx, dateOf(deps.clock), TIDY_BATCH)),
      retiredKeys: () => deleteRetiredKeys(background.database, dateOf(deps.clock, -KEPT_MS), TIDY_BATCH),
    },
    /** Ids of replaced keys whose overlap is not recorded as ended, in order: each has a workflow. */
    waiting: (after: string | null, limit: number) => overlappingKeys(background.database, after, limit),
  };
}

/** Signing keys as other domains use them. */
export type Keys = ReturnType<typeof createSigningKeys>;
