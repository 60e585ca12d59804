import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import { ofRefusal } from "../../platform/db/types.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import type { AuditEvent } from "./events.ts";
import { createExport } from "./export.ts";
import { createHeads } from "./heads.ts";
import type { HeadKeys } from "./heads.ts";
import { createLinker } from "./linker.ts";
import type { LinkerDeps } from "./linker.ts";
import { createPurge } from "./purge.ts";
import { createReadEvents } from "./read-events.ts";
import type { ReadEventsDeps } from "./read-events.ts";
import { appendEvent } from "./store.ts";
import { createVerify } from "./verify.ts";

export type { Actor, AuditEvent, AuditEventType, AuditRecord, AuthEventType } from "./events.ts";
export { administrativeEventTypes, authEventTypes, isAuditEventType, isAuthEventType } from "./events.ts";
export { actorOf, personActor, systemActor } from "./actor.ts";
export type { EventPage, EventQuery } from "./read-events.ts";
export type { Verification } from "./verify.ts";
export { verifyExport } from "./verify-export.ts";
export type { ProofResult } from "./proof.ts";
export { auditRpc } from "./rpc.ts";

/** What the audit log is made of. */
export interface AuditDeps extends ReadEventsDeps {
  clock: Clock;
  random: Pick<Random, "uuid">;
}

/** The audit log: events are appended in the transaction of what they tell of, and never change. */
export function createAudit(deps: AuditDeps) {
  /** Appends an event in the caller's transaction; answers its id. */
  async function record(tx: Tx, event: AuditEvent): Promise<string> {
    const eventId = deps.random.uuid();
    await appendEvent(tx, eventId, dateOf(deps.clock), event);
    return eventId;
  }

  return {
    ...createReadEvents(deps),
    record,
    /** Appends an event in a transaction of its own, so that it outlives the refused work. */
    recordFailure: (event: Omit<AuditEvent, "outcome">): Promise<string> =>
      deps.database.transaction((tx) => record(tx, { ...event, outcome: "failure" }), ofRefusal),
  };
}

/** The audit log as other domains see it. */
export type Audit = ReturnType<typeof createAudit>;

/** What the hash chain is made of. */
export interface AuditChainDeps extends LinkerDeps {
  log: Log;
  /** Seals heads with the instance key. */
  sealer: Sealer;
  keys: HeadKeys;
  audit: Pick<Audit, "record">;
}

/** The hash chain over the log: linking, verification, export and purge. */
export function createAuditChain({ sealer, keys, audit, ...deps }: AuditChainDeps) {
  const heads = createHeads({ sealer, keys });
  const linker = createLinker(deps, heads);
  return {
    linker,
    ...createVerify(deps, linker, heads),
    ...createExport({ ...deps, record: audit.record }, linker, heads),
    ...createPurge({ ...deps, record: audit.record }, linker),
  };
}

/** The hash chain as the server and the worker see it. */
export type AuditChain = ReturnType<typeof createAuditChain>;
