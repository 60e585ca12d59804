import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { SKIP_REAUTHORIZATION } from "../../platform/db/types.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import { appendEvent, appendEvents } from "./store.ts";
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
  async function append(tx: Tx, event: AuditEvent): Promise<string> {
    const eventId = random.uuid();
    await appendEvent(tx, eventId, dateOf(clock), event);
    return eventId;
  }

  return {
    append,
    /** Appends what happened in one statement of its own: for reads, which change nothing else. */
    appendAll: (events: readonly Omit<AuditEvent, "outcome">[]): Promise<void> =>
      appendEvents(
        database,
        events.map((event) => ({ ...event, outcome: "success", eventId: random.uuid() })),
        dateOf(clock),
      ),
    /** Appends a failure in a transaction of its own, so that it outlives the refused work. @returns its id */
    appendFailure: (event: Omit<AuditEvent, "outcome">): Promise<string> =>
      database.transaction((tx) => append(tx, { ...event, outcome: "failure" }), SKIP_REAUTHORIZATION),
  };
}

/** The audit record as the event catalogue uses it. */
export type AuditRecordWriter = ReturnType<typeof createAuditRecord>;
