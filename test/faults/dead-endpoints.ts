import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { stubbornClient } from "./client.ts";
import { inLanes, percentile, spreadOf, within } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { startServers } from "./servers.ts";
import { must, tradeOver } from "./trade.ts";

const DEAD = 50;
/** Events for each dead endpoint at once, and then one for some of them beside each of the good one's. */
const BACKLOG = 10;
const EVENTS = 250;
const BETWEEN_MS = 40;
/** What the dead ones may add to the good one's p99. */
const SLACK_MS = 250;

/** Half of the dead ones take connections and never answer, the others break them. The good one tells how old its events are. */
async function startReceivers(ages: number[]) {
  const held = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      if (request.url === "/hang") return void held.add(response);
      if (request.url === "/break") return void request.socket.resetAndDestroy();
      const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { timestamp: string };
      ages.push(Date.now() - Date.parse(timestamp));
      response.writeHead(204).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Fifty endpoints that are dead beside one that is not: how long the good one's events take from their commit, without and with them. */
export const deadEndpoints: Scenario = async (say) => {
  const wrong: string[] = [];
  const servers = await startServers(["all"], { SERVICE_WEBHOOK_TIMEOUT: "15s", SERVICE_WEBHOOK_SCHEDULE: "0s,5s,5m,30m" });
  const ages: number[] = [];
  const receivers = await startReceivers(ages);
  try {
    const client = stubbornClient(servers.urls);
    const { newcomer, listen } = tradeOver(client);
    const [token, deadToken] = [await newcomer(), await newcomer()];
    const good = (await listen(token, `${receivers.url}/good`, ["user.created"])).webhookId;
    const tell = async (webhookId: string, by: string): Promise<void> => void must(await client.call("POST", `/api/v2/webhooks/${webhookId}/test`, by));
    const measure = async (beside: () => Promise<void>, events = EVENTS): Promise<number[]> => {
      ages.length = 0;
      await inLanes(Array.from({ length: events }, () => () => Promise.all([tell(good, token), beside()])), 16, BETWEEN_MS);
      if (!(await within(10_000, () => Promise.resolve(ages.length >= events)))) wrong.push(`${events - ages.length} events did not reach the good endpoint within 10 s`);
      return [...ages];
    };

    await measure(() => Promise.resolve(), 50);
    const alone = await measure(() => Promise.resolve());
    say(`commit to delivery of one good endpoint alone: ${spreadOf(alone)}`);
    const dead: string[] = [];
    for (let nth = 0; nth < DEAD; nth++) dead.push((await listen(deadToken, `${receivers.url}/${nth % 2 === 0 ? "hang" : "break"}`, ["user.created"])).webhookId);
    await inLanes(dead.flatMap((webhookId) => Array.from({ length: BACKLOG }, () => () => tell(webhookId, deadToken))), 16);
    let turn = 0;
    const beside = await measure(() => tell(dead[turn++ % DEAD] ?? "", deadToken));
    say(`beside ${DEAD} dead endpoints, ${BACKLOG * DEAD} events waiting for them and ${Math.round(1_000 / BETWEEN_MS)} more a second: ${spreadOf(beside)}`);
    const [before, after] = [percentile(alone, 0.99), percentile(beside, 0.99)];
    if (after > before + SLACK_MS) wrong.push(`fifty dead endpoints delayed the good one's p99 from ${Math.round(before)} ms to ${Math.round(after)} ms`);
    return wrong;
  } finally {
    await servers.close();
    await receivers.close();
  }
};
