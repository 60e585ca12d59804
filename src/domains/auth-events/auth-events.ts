import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Poller } from "../../platform/poller.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { HeadKeys } from "./chain/heads.ts";
import { createHeads } from "./chain/heads.ts";
import { createLinker } from "./chain/linker.ts";
import type { LinkerDeps } from "./chain/linker.ts";
import { createPurge } from "./chain/purge.ts";
import { createVerify } from "./chain/verify.ts";
import { createExport } from "./export/export.ts";
import { createReadEvents } from "./list/read-events.ts";
import type { ReadEventsDeps } from "./list/read-events.ts";
import { createStats } from "./list/stats.ts";

/** Dependencies of the audit log. */
export interface AuthEventsDeps extends LinkerDeps, Pick<ReadEventsDeps, "organizations" | "people" | "cursors"> {
  /** Seals heads with the instance key. */
  sealer: Sealer;
  keys: HeadKeys;
  events: Pick<Events, "emit">;
}

/** The audit log: its lists, its hash chain with linking, verification and purge, and its exports. */
export function createAuthEvents({ sealer, keys, organizations, people, cursors, ...deps }: AuthEventsDeps) {
  const heads = createHeads({ sealer, keys });
  const linker = createLinker(deps, heads);
  const purge = createPurge(deps, linker);
  const pollers: readonly Poller[] = [linker.poller];
  return {
    ...createReadEvents({ database: deps.database, organizations, people, cursors }),
    ...createStats(deps),
    ...createVerify(deps, linker, heads),
    ...createExport(deps, linker, heads),
    ...purge,
    linker,
    pollers,
    tidy: { auditEvents: purge.purgeDaily },
  };
}

/** The audit log as its service and the program use it. */
export type AuthEvents = ReturnType<typeof createAuthEvents>;
