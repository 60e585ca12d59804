import { runSql } from "../../support/postgres.ts";
import { cpuSeconds } from "../processes.ts";
import { marketOfRow } from "../market.ts";
import type { Market } from "../market.ts";
import type { Serving } from "../baselines/serve.ts";
import type { FigureRow, RatioRow, Sample } from "./row.ts";

/** Events of a round for each of its seconds. A side that delivers more in a second ends its round earlier. */
const backlogPerSecond = 1_200;
/** Events a second that are committed while latency is measured: the rate that has to be sustained. */
const commitsPerSecond = 300;

const withWebhook = marketOfRow("deliveries", webhook);
async function webhook(market: Market): Promise<{ webhookId: string }> {
  const { webhook_id: webhookId } = await market.call<{ webhook_id: string }>(0, "POST", "/api/v2/webhooks", 201, {
    url: market.url,
    events: ["user.created"],
  });
  return { webhookId };
}

/** Commits a backlog as an outage of the worker leaves one, and waits until the service has worked it off. */
async function drain(
  { service, webhookId, begin, received }: Market & { webhookId: string },
  seconds: number,
): Promise<Sample> {
  const count = Math.ceil(seconds * backlogPerSecond);
  const organization = `(select org_uuid from webhooks where webhook_id = '${webhookId}')`;
  await begin();
  const before = cpuSeconds(service.pid);
  const began = performance.now();
  await runSql(
    service.databaseUrl,
    `with events as (
       insert into webhook_events (event_id, type, body, created_at)
       select id, 'user.created', json_build_object(
           'type', 'user.created', 'timestamp', now(), 'id', id, 'org_uuid', ${organization},
           'data', json_build_object('user_uuid', gen_random_uuid())), now()
       from (select 'evt_' || replace(gen_random_uuid()::text, '-', '') as id from generate_series(1, ${count})) as ids
       returning event_id
     )
     insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at)
     select gen_random_uuid(), event_id, '${webhookId}', 'pending', 'first', now(), now() from events`,
  );
  const { seconds: took } = await received(count, 60_000 + seconds * 10_000);
  const [all, after] = [(performance.now() - began) / 1000, cpuSeconds(service.pid)];
  const used = before === undefined || after === undefined ? undefined : after - before;
  return { value: count / took, ...(used === undefined ? {} : { serverCpu: used / all, perCpuSecond: count / used }) };
}

/** Deliveries against a loop that only posts and updates the row. */
export const deliveriesAgainstLoop: RatioRow = {
  kind: "ratio",
  name: "deliveries",
  title: "webhook deliveries to one receiver, against a loop of undici posts and updates",
  unit: "1/s",
  target: 0.7,
  at: "least",
  async sides(environment) {
    const market = await withWebhook(environment);
    const loop = await environment.server<Serving>("baselines/plain-deliveries.ts", {
      DATABASE: await environment.baselineDatabase(),
      RECEIVER: market.url,
    });
    return [
      { name: "Atrium, deliveries", measure: (seconds) => drain(market, seconds) },
      { name: "plain loop", measure: (seconds) => loop.ask<Sample>({ count: Math.ceil(seconds * backlogPerSecond) }) },
    ];
  },
};

const forRate = marketOfRow("deliveries_rate", webhook);
/** Deliveries a second of a service on one core. */
export const deliveryRate: FigureRow = {
  kind: "figure",
  name: "deliveries-rate",
  title: "webhook deliveries to one receiver, sustained",
  unit: "1/s",
  target: 300,
  at: "least",
  measure: async (environment, seconds) => (await drain(await forRate(environment), seconds * 3)).value,
};

const forLatency = marketOfRow("deliveries_latency", webhook);
/** How long an event takes to its receiver while 300 a second are committed by requests to the same process. */
export const deliveryLatency: FigureRow = {
  kind: "figure",
  name: "deliveries-p99",
  title: `p99 from an event to its delivery, ${commitsPerSecond} events a second by requests`,
  unit: "ms",
  target: 1_000,
  async measure(environment, seconds) {
    const { service, webhookId, begin, received } = await forLatency(environment);
    const file = environment.requests([
      {
        method: "POST",
        path: `/api/v2/webhooks/${webhookId}/test`,
        headers: { authorization: `Bearer ${service.tokens[0]}` },
      },
    ]);
    await begin();
    const sent = await environment.load(
      {
        protocol: "http1",
        port: service.port,
        connections: 32,
        file,
        rate: commitsPerSecond,
        status: 202,
        seconds: seconds * 3,
        tools: false,
      },
      service.pid,
    );
    if (sent.value < commitsPerSecond * 0.95)
      throw new Error(`only ${Math.round(sent.value)} events a second were committed`);
    return (await received(Math.floor(sent.value * seconds * 3), 30_000)).p99;
  },
};
