import type { Clock } from "../clock.ts";
import { currentTraceparent } from "../tracing.ts";
import { databaseTime, present } from "./time.ts";
import type { OutboxMessage, Tx } from "./types.ts";

/** Writes the messages of one transaction in one statement, with the current trace. */
export function insertOutbox(tx: Pick<Tx, "defer">, clock: Clock, messages: readonly OutboxMessage[]): void {
  const rows = messages.map((message) => ({
    topic: message.topic,
    payload: message.payload,
    available_at: message.availableAt ?? null,
    expires_at: message.expiresAt ?? null,
  }));
  tx.defer(
    `insert into outbox (topic, payload, created_at, available_at, expires_at, traceparent)
     select topic, payload, ${present("$1")}, coalesce(available_at, ${present("$1")}), expires_at, $3
     from jsonb_to_recordset($2)
       as message(topic text, payload jsonb, available_at timestamptz, expires_at timestamptz)`,
    [databaseTime(clock), JSON.stringify(rows), currentTraceparent() ?? null],
  );
}
