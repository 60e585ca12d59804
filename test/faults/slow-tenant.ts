import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { stubbornClient } from "./client.ts";
import { inLanes, percentile, spreadOf, within } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { startServers } from "./servers.ts";
import { must, marketplaceClient } from "./marketplace-client.ts";

/** The maximum of an organization. */
const SLOW = 1_000;
const ANSWER_MS = 14_000;
/** Events for each of the slow ones, and for the good one while these are waited for. */
const BACKLOG = 3;
const EVENTS = 500;
const BETWEEN_MS = 40;
/** What the slow endpoints may add to the p99 of the fast one. */
const SLACK_MS = 500;

/**
 * The good endpoint measures the age of its events; the slow ones answer 204 after 14 s, on a port of their own. Each
 * has its own host name, so that the share of their organization limits them, not the share of a host.
 */
async function startReceivers(ages: number[]) {
  const good = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { timestamp: string };
      ages.push(Date.now() - Date.parse(timestamp));
      response.writeHead(204).end();
    });
  });
  const slow = createServer((request, response) => {
    request.resume().on("end", () => void setTimeout(() => response.writeHead(204).end(), ANSWER_MS).unref());
  });
  const servers = [good, slow];
  for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
  const [goodPort, slowPort] = servers.map((server) => (server.address() as AddressInfo).port);
  return {
    goodUrl: `http://127.0.0.1:${goodPort}`,
    slowUrl: (nth: number) => `http://slow-${nth}.localhost:${slowPort}`,
    async close() {
      await Promise.all(
        servers.map(async (server) => {
          server.closeAllConnections();
          server.close();
          await once(server, "close");
        }),
      );
    },
  };
}

/**
 * A thousand endpoints of one organization that answer after 14 s beside a good one of another: how long the good one's
 * events take.
 */
export const slowTenant: Scenario = async (log) => {
  const wrong: string[] = [];
  const servers = await startServers(["all"], { SERVICE_WEBHOOK_TIMEOUT: "15s" });
  const ages: number[] = [];
  const receivers = await startReceivers(ages);
  try {
    const client = stubbornClient(servers.urls);
    const { newcomer, listen } = marketplaceClient(client);
    const [token, otherToken] = [await newcomer(), await newcomer()];
    const good = (await listen(token, receivers.goodUrl, ["user.created"])).webhookId;
    const tell = async (webhookId: string, by: string): Promise<void> =>
      void must(await client.call("POST", `/api/v2/webhooks/${webhookId}/test`, by));
    const slow: string[] = [];
    const register = async (nth: number): Promise<void> =>
      void slow.push((await listen(otherToken, receivers.slowUrl(nth), ["user.created"])).webhookId);
    await inLanes(
      Array.from({ length: SLOW }, (_, nth) => () => register(nth)),
      16,
    );
    const measure = async (): Promise<number[]> => {
      ages.length = 0;
      await inLanes(
        Array.from({ length: EVENTS }, () => () => tell(good, token)),
        16,
        BETWEEN_MS,
      );
      if (!(await within(20_000, () => Promise.resolve(ages.length >= EVENTS))))
        wrong.push(`${EVENTS - ages.length} events did not reach the good endpoint within 20 s`);
      return [...ages];
    };

    log(`the good one gets ${Math.round(1_000 / BETWEEN_MS)} events a second`);
    const alone = await measure();
    log(`commit to delivery alone: ${spreadOf(alone)}`);
    await inLanes(
      slow.flatMap((webhookId) => Array.from({ length: BACKLOG }, () => () => tell(webhookId, otherToken))),
      16,
    );
    const beside = await measure();
    log(`beside ${SLOW} endpoints of one organization that answer after ${ANSWER_MS / 1_000} s: ${spreadOf(beside)}`);
    const [before, after] = [percentile(alone, 0.99), percentile(beside, 0.99)];
    if (!(after <= before + SLACK_MS))
      wrong.push(
        "an organization's slow endpoints delayed another's good one: " +
          `p99 from ${Math.round(before)} ms to ${Math.round(after)} ms`,
      );
    return wrong;
  } finally {
    await servers.close();
    await receivers.close();
  }
};
