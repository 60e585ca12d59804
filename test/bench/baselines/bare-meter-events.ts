/** Meter events without a service: batches of 1,000 by one statement each. */
import { randomUUID } from "node:crypto";
import { pool, serveWork } from "./transactions.ts";

await pool.query(`create table if not exists bare_meter_events (
    org uuid not null, id text not null, meter_id uuid not null, value numeric not null,
    happened_at timestamptz not null, received_at timestamptz not null, primary key (org, id));
  create index if not exists bare_meter_events_time on bare_meter_events (meter_id, happened_at)`);
const [org, meter] = [randomUUID(), randomUUID()];
const batch = 1_000;
let nth = 0;

serveWork(async () => {
  const [seed, now] = [`${process.pid}-${nth++}`, new Date()];
  const all = Array.from({ length: batch }, (_, at) => at);
  await pool.query({
    name: "events",
    text: `insert into bare_meter_events
      select $1, id, meter_id, value::numeric, happened_at, $6
      from unnest($2::text[], $3::uuid[], $4::text[], $5::timestamptz[]) as e (id, meter_id, value, happened_at)
      on conflict do nothing`,
    values: [org, all.map((at) => `${seed}-${at}`), all.map(() => meter), all.map(() => "1"), all.map(() => now), now],
  });
});
