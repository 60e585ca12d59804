import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { stubbornClient } from "./client.ts";
import { inLanes, percentile, spreadOf, within } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { startServers } from "./servers.ts";
import { must, marketplaceClient } from "./marketplace-client.ts";

const DEAD = 50;
/** Events for each of the others at once, and then one for one of them beside each of the good one's. */
const BACKLOG = 10;
const EVENTS = 250;
const BETWEEN_MS = 40;
/**
 * What the dead ones may add to the good one's p99. Waiting behind them costs seconds, a share of their 15 s; what is
 * less is the work of noting their failures on a machine that does everything at once.
 */
const SLACK_MS = 750;

/**
 * The good endpoint measures the age of its events. Once the others are dead, half of them never answer
 * and half break them.
 */
async function startReceivers(ages: number[]) {
  const held = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      if (receivers.dead && request.url === "/hang") return void held.add(response);
      if (receivers.dead && request.url === "/break") return void request.socket.resetAndDestroy();
      if (request.url !== "/good") return void response.writeHead(204).end();
      const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { timestamp: string };
      ages.push(Date.now() - Date.parse(timestamp));
      response.writeHead(204).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const receivers = {
    dead: false,
    url,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receivers;
}

/**
 * Fifty endpoints beside a good one, alive and then dead: how long the good one's events take from their commit while
 * the others get the same.
 */
export const deadEndpoints: Scenario = async (log) => {
  const wrong: string[] = [];
  const servers = await startServers(["all"], {
    SERVICE_WEBHOOK_TIMEOUT: "15s",
    SERVICE_WEBHOOK_SCHEDULE: "0s,5s,5m,30m",
  });
  const ages: number[] = [];
  const receivers = await startReceivers(ages);
  try {
    const client = stubbornClient(servers.urls);
    const { newcomer, listen } = marketplaceClient(client);
    const [token, otherToken] = [await newcomer(), await newcomer()];
    const good = (await listen(token, `${receivers.url}/good`, ["user.created"])).webhookId;
    const tell = async (webhookId: string, by: string): Promise<void> =>
      void must(await client.call("POST", `/api/v2/webhooks/${webhookId}/test`, by));
    const others: string[] = [];
    for (let nth = 0; nth < DEAD; nth++)
      others.push(
        (await listen(otherToken, `${receivers.url}/${nth % 2 === 0 ? "hang" : "break"}`, ["user.created"])).webhookId,
      );
    const measure = async (): Promise<number[]> => {
      await inLanes(
        others.flatMap((webhookId) => Array.from({ length: BACKLOG }, () => () => tell(webhookId, otherToken))),
        16,
      );
      ages.length = 0;
      await inLanes(
        Array.from(
          { length: EVENTS },
          (_, at) => () => Promise.all([tell(good, token), tell(others[at % DEAD] ?? "", otherToken)]),
        ),
        16,
        BETWEEN_MS,
      );
      if (!(await within(10_000, () => Promise.resolve(ages.length >= EVENTS))))
        wrong.push(`${EVENTS - ages.length} events did not reach the good endpoint within 10 s`);
      return [...ages];
    };

    log(
      `each gets ${BACKLOG} events at once; then the good one gets ${Math.round(1_000 / BETWEEN_MS)} a second, ` +
        "and so do the others together",
    );
    const alive = await measure();
    log(`commit to delivery of the good one beside ${DEAD} that answer: ${spreadOf(alive)}`);
    receivers.dead = true;
    const dead = await measure();
    log(`beside ${DEAD} that are dead: ${spreadOf(dead)}`);
    const [before, after] = [percentile(alive, 0.99), percentile(dead, 0.99)];
    if (after > before + SLACK_MS)
      wrong.push(
        `fifty dead endpoints delayed the good one's p99 from ${Math.round(before)} ms to ${Math.round(after)} ms`,
      );
    return wrong;
  } finally {
    await servers.close();
    await receivers.close();
  }
};
