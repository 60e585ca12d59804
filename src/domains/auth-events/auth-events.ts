import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Poller } from "../../platform/poller.ts";
import type { AuditEvent, AuditRecordWriter } from "../audit-record/index.ts";
import { isAuthEventType } from "../event-catalogue/index.ts";
import type { AuditEventType, Events } from "../event-catalogue/index.ts";
import { createExport } from "./export/export.ts";
import { createHeads } from "./chain/heads.ts";
import type { HeadKeys } from "./chain/heads.ts";
import { createLinker } from "./chain/linker.ts";
import type { LinkerDeps } from "./chain/linker.ts";
import { createPurge } from "./chain/purge.ts";
import { createReadEvents } from "./list/read-events.ts";
import type { ReadEventsDeps } from "./list/read-events.ts";
import { createVerify } from "./chain/verify.ts";

/** Dependencies of the audit log. */
export interface AuditDeps extends ReadEventsDeps {
  record: AuditRecordWriter;
}

/** The audit log: its lists, and events recorded by their types. */
export function createAudit({ record: appending, ...deps }: AuditDeps) {
  const typed = (event: TypedEvent): AuditEvent => ({ ...event, isAuthentication: isAuthEventType(event.type) });
  return {
    ...createReadEvents(deps),
    /** Appends an event in the caller's transaction. @returns its id */
    record: (tx: Tx, event: TypedEvent): Promise<string> => appending.append(tx, typed(event)),
    /** Appends a failure in a transaction of its own, so that it outlives the refused work. */
    recordFailure: (event: Omit<TypedEvent, "outcome">): Promise<string> =>
      appending.appendFailure(typed({ ...event, outcome: "failure" })),
  };
}

/** An event with a type of the catalogue. */
export interface TypedEvent extends Omit<AuditEvent, "isAuthentication"> {
  type: AuditEventType;
}

/** The audit log as other domains use it. */
export type Audit = ReturnType<typeof createAudit>;

/** Dependencies of the hash chain. */
export interface AuditChainDeps extends LinkerDeps {
  /** Seals heads with the instance key. */
  sealer: Sealer;
  keys: HeadKeys;
  events: Pick<Events, "emit">;
}

/** The hash chain over the log: linking, verification, export and purge. */
export function createAuditChain({ sealer, keys, ...deps }: AuditChainDeps) {
  const heads = createHeads({ sealer, keys });
  const linker = createLinker(deps, heads);
  const purge = createPurge(deps, linker);
  const pollers: readonly Poller[] = [linker.poller];
  return {
    linker,
    pollers,
    tidy: { auditEvents: purge.purgeDaily },
    ...createVerify(deps, linker, heads),
    ...createExport(deps, linker, heads),
    ...purge,
  };
}

/** The hash chain as the server and the worker use it. */
export type AuditChain = ReturnType<typeof createAuditChain>;
