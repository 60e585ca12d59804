import { defineMigration } from "../platform/db/migrator.ts";

const ends = `
  -- Since when the organization it was made for is gone: nobody sees or touches it any more.
  alter table webhooks add column ended_at timestamptz(3);
  create index webhooks_ended on webhooks (ended_at) where ended_at is not null;
`;

/**
 * The trace in which the delivery was asked for, so that its attempts are seen together with the request that caused
 * them.
 */
const traces = "alter table webhook_deliveries add column traceparent text";

/** The end of an organization's webhooks, and the trace a delivery belongs to. */
export const webhookEnds = defineMigration("0013-webhook-ends", [ends, traces]);
