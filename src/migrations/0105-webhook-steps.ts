import { defineMigration } from "../platform/db/migrator.ts";

/** Attempts at deliveries outside their schedules, made because the endpoint had responded to another. */
export const webhookSteps = defineMigration("0105-webhook-steps", [
  `alter table webhook_deliveries
     -- Attempts among tries that were no step of the schedule.
     add column if not exists extra_tries integer not null default 0,
     -- When the schedule has the next attempt, while an earlier one is due.
     add column if not exists scheduled_at timestamptz(3),
     -- Before this a success at another delivery makes this one not due.
     add column if not exists not_before timestamptz(3)`,
]);
