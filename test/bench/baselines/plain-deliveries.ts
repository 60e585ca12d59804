/**
 * The least a worker of deliveries can do: reads what is open, posts it with undici, notes one row as delivered. As
 * many posts at once as the service makes to one endpoint. No signatures, no leases, no address checks.
 */
import pg from "pg";
import { Agent } from "undici";
import { cpuSeconds } from "../processes.ts";

const atOnce = 32;
const batch = 500;
const receiver = new URL(process.env["RECEIVER"] ?? "");
const pool = new pg.Pool({ connectionString: process.env["DATABASE"], max: 10 });
const agent = new Agent({ connections: 32, pipelining: 1 });
await pool.query(`
  drop table if exists plain_deliveries;
  create table plain_deliveries (
    id uuid primary key, event_id text not null, body text not null, status text not null,
    attempts jsonb not null default '[]');
  create index plain_deliveries_open on plain_deliveries (id) where status = 'pending'`);

async function seed(count: number): Promise<void> {
  await pool.query(
    `insert into plain_deliveries (id, event_id, body, status)
     select gen_random_uuid(), id, json_build_object(
         'type', 'user.created', 'timestamp', now(), 'id', id, 'org_uuid', gen_random_uuid(),
         'data', json_build_object('user_uuid', gen_random_uuid())), 'pending'
     from (select 'evt_' || replace(gen_random_uuid()::text, '-', '') as id from generate_series(1, $1)) as ids`,
    [count],
  );
}

async function deliver({ id, event_id: eventId, body }: { id: string; event_id: string; body: string }): Promise<void> {
  const begun = Date.now();
  const answer = await agent.request({
    origin: receiver.origin,
    path: receiver.pathname,
    method: "POST",
    headers: { "content-type": "application/json", "webhook-id": eventId },
    body,
  });
  const response = await answer.body.text();
  const attempt = {
    at: new Date(begun).toISOString(),
    status_code: answer.statusCode,
    duration_ms: Date.now() - begun,
    response,
  };
  await pool.query({
    name: "delivered",
    text: "update plain_deliveries set status = 'delivered', attempts = attempts || $2::jsonb where id = $1",
    values: [id, JSON.stringify(attempt)],
  });
}

process.on("message", ({ count }: { count: number }) => void run(count));
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: {} });

async function run(count: number): Promise<void> {
  await seed(count);
  const before = cpuSeconds(process.pid) ?? 0;
  const began = performance.now();
  for (;;) {
    const { rows } = await pool.query({
      name: "open",
      text: "select id, event_id, body from plain_deliveries where status = 'pending' order by id limit $1",
      values: [batch],
    });
    if (rows.length === 0) break;
    const one = async (): Promise<void> => {
      for (let row = rows.pop(); row !== undefined; row = rows.pop()) await deliver(row);
    };
    await Promise.all(Array.from({ length: atOnce }, one));
  }
  const seconds = (performance.now() - began) / 1000;
  const used = (cpuSeconds(process.pid) ?? 0) - before;
  process.send?.({ result: { value: count / seconds, serverCpu: used / seconds, perCpuSecond: count / used } });
}
