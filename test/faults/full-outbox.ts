import { runSql } from "../support/postgres.ts";
import { stubbornClient } from "./client.ts";
import { percentile, spreadOf } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { startServers } from "./servers.ts";
import { must, marketplaceClient } from "./marketplace-client.ts";

const MESSAGES = 1_000_000;
const BATCH = 100_000;
const REQUESTS = 3_000;
/** Messages that have to be due to the end: fewer are no backlog. */
const LEAST_DUE = 900_000;
/** How many times as long as without messages a token may take to be checked, at the 90th percentile. */
const MOST = 1.5;

/** A million due messages of one topic, none of which can be handled: what GET /api/auth/me takes meanwhile. */
export const fullOutbox: Scenario = async (log) => {
  const servers = await startServers(["all"], {});
  try {
    const client = stubbornClient(servers.urls);
    const { newcomer } = marketplaceClient(client);
    const token = await newcomer();
    const measure = async (): Promise<number[]> => {
      const times: number[] = [];
      for (let nth = 0; nth < REQUESTS; nth++) {
        const began = performance.now();
        must(await client.call("GET", "/api/auth/me", token));
        times.push(performance.now() - began);
      }
      return times;
    };
    await measure();
    const before = await measure();
    log(`GET /api/auth/me with an empty outbox: ${spreadOf(before)}, p90 ${percentile(before, 0.9).toFixed(1)} ms`);
    for (let from = 0; from < MESSAGES; from += BATCH) {
      await runSql(
        servers.databaseUrl,
        `insert into outbox (topic, payload, created_at, available_at)
         select 'mail.send', '{"box":"cannot be opened"}', now(), now() from generate_series(1, ${BATCH})`,
      );
    }
    const after = await measure();
    const [{ n: left } = { n: "0" }] = await runSql<{ n: string }>(
      servers.databaseUrl,
      "select count(*) as n from outbox where topic = 'mail.send' and available_at <= now()",
    );
    log(
      `with ${Number(left).toLocaleString("en")} due messages of one topic: ${spreadOf(after)}, ` +
        `p90 ${percentile(after, 0.9).toFixed(1)} ms`,
    );
    const ratio = percentile(after, 0.9) / percentile(before, 0.9);
    return [
      ...(ratio <= MOST ? [] : [`the messages made p90 ${ratio.toFixed(2)} times as long`]),
      ...(Number(left) >= LEAST_DUE ? [] : [`only ${left} messages were still due after the measurement`]),
    ];
  } finally {
    await servers.close();
  }
};
