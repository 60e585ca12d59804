import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { SKIP_REAUTHORIZATION } from "../../platform/db/types.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import { appendEvent, appendEvents, appendEventsIn } from "./store.ts";
import type { AuditEvent } from "./types.ts";

/** Dependencies of the audit record. */
export interface AuditRecordDeps {
  database: Pick<Database, "transaction" | "prepared">;
  clock: Clock;
  random: Pick<Random, "uuid">;
}

/** Appends audit events; they never change afterwards. */
export function createAuditRecord({ database, clock, random }: AuditRecordDeps) {
  /** Appends an event in the transaction of what it records. @returns its id */
  function append(tx: Tx, event: AuditEvent): string {
    const eventId = random.uuid();
    appendEvent(tx, eventId, dateOf(clock), event);
    return eventId;
  }

  const withIds = (events: readonly Omit<AuditEvent, "outcome">[]) =>
    events.map((event) => ({ ...event, outcome: "success" as const, eventId: random.uuid() }));

  return {
    append,
    /** Appends events of one transaction in one statement. */
    appendAllIn: (tx: Tx, events: readonly Omit<AuditEvent, "outcome">[]): void =>
      appendEventsIn(tx, withIds(events), dateOf(clock)),
    /** Appends what happened in one statement of its own: for reads, which change nothing else. */
    appendAll: (events: readonly Omit<AuditEvent, "outcome">[]): Promise<void> =>
      appendEvents(database, withIds(events), dateOf(clock)),
    /** Appends a failure in a transaction of its own, so that it outlives the refused work. @returns its id */
    appendFailure: (event: Omit<AuditEvent, "outcome">): Promise<string> =>
      database.transaction(async (tx) => append(tx, { ...event, outcome: "failure" }), SKIP_REAUTHORIZATION),
  };
}

/** The audit record as the event catalogue uses it. */
export type AuditRecordWriter = ReturnType<typeof createAuditRecord>;
