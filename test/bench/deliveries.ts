import type { Service } from "./service.ts";
import { runSql } from "../support/postgres.ts";

const BATCH = 100_000;

/** Registers a webhook and gives it deliveries: a third each delivered, failed and pending, over the last days. */
export async function seedDeliveries(service: Service, count: number, log: (line: string) => void): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v2/webhooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.tokens[0]}`, "content-type": "application/json" },
    body: JSON.stringify({ url: "https://example.com/hook", events: ["user.created"] }),
  });
  if (answer.status !== 201) throw new Error(`registration answered ${answer.status}`);
  const { webhook_id: webhookId } = (await answer.json()) as { webhook_id: string };
  for (let from = 0; from < count; from += BATCH) {
    await runSql(
      service.databaseUrl,
      `with events as (
         insert into webhook_events (event_id, type, body, created_at)
         select 'evt_' || n, 'user.created', '{}', now() - n * interval '500 milliseconds'
         from generate_series($2::int, $3::int - 1) n
         returning event_id, created_at
       )
       insert into webhook_deliveries
         (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at, tries, attempts)
       select gen_random_uuid(), event_id, $1, s.status, 'retry',
         case when s.status = 'pending' then now() + interval '10 hours' end,
         created_at, 1,
         '[{"at":"2026-01-01T00:00:00.000Z","status_code":503,"error":null,"duration_ms":5,"response":"no"}]'
       from events,
         lateral (select (array['delivered', 'failed', 'pending'])[1 + abs(hashtext(event_id)) % 3] as status) s`,
      [webhookId, from, Math.min(count, from + BATCH)],
    );
    if (count > BATCH)
      log(`  ${Math.min(count, from + BATCH).toLocaleString("en")} of ${count.toLocaleString("en")} deliveries`);
  }
  await runSql(service.databaseUrl, "select tally_webhook($1)", [webhookId]);
  await runSql(service.databaseUrl, "vacuum (analyze) webhook_deliveries, webhook_events");
  return webhookId;
}
