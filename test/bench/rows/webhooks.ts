import { webhookLists } from "../scale.ts";
import type { Backlogged } from "../scale.ts";
import type { Service } from "../service.ts";
import type { Environment } from "../environment.ts";
import { p50Side } from "./latency.ts";
import type { FigureRow, RatioRow, Row } from "./row.ts";

const reads = [
  { name: "webhooks-list", title: "webhooks list", path: () => "/api/v2/webhooks?limit=20" },
  { name: "webhook-read", title: "GET of a webhook", path: (id: string) => `/api/v2/webhooks/${id}` },
  {
    name: "webhook-deliveries",
    title: "deliveries list",
    path: (id: string) => `/api/v2/webhooks/${id}/deliveries?limit=20`,
  },
  {
    name: "webhook-pending",
    title: "deliveries list, pending",
    path: (id: string) => `/api/v2/webhooks/${id}/deliveries?status=pending&limit=20`,
  },
  {
    name: "webhook-failed",
    title: "deliveries list, failed",
    path: (id: string) => `/api/v2/webhooks/${id}/deliveries?status=failed&limit=20`,
  },
  {
    name: "webhook-delivery",
    title: "GET of a delivery",
    path: (id: string, delivery: string) => `/api/v2/webhooks/${id}/deliveries/${delivery}`,
  },
] as const;

/** A delivery that failed. */
async function failedDelivery({ port, tokens, webhookId }: Service & Backlogged): Promise<string> {
  const path = `/api/v2/webhooks/${webhookId}/deliveries?status=failed&limit=1`;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${tokens[0]}` } });
  const { data } = (await answer.json()) as { data: { delivery_id: string }[] };
  const [failed] = data;
  if (failed === undefined) throw new Error("no delivery has failed");
  return failed.delivery_id;
}

/** What reading webhooks costs at three million deliveries, against ten thousand. */
const ratios: readonly RatioRow[] = reads.map(({ name, title, path }) => ({
  kind: "ratio",
  name,
  title: `${title}: p50 at 3 million deliveries, against 10 thousand`,
  unit: "ms",
  target: 1.5,
  at: "most",
  async sides(environment) {
    const { small, large } = await webhookLists(environment);
    const side = async (size: string, service: Service & Backlogged) => {
      const of = path(service.webhookId, await failedDelivery(service));
      return p50Side(environment, size, service, of, service.tokens.slice(0, 1));
    };
    return [await side("3 million deliveries", large), await side("10 thousand deliveries", small)];
  },
}));

/** By environment: a webhook can be deleted once. */
const changed = new WeakMap<Environment, Promise<number>>();

/**
 * The longest of all routes of a webhook of three million deliveries, a third of them open; it is gone at the end.
 */
const changes: FigureRow = {
  kind: "figure",
  name: "webhook-changes",
  title: "longest request to any route of a webhook with 3 million deliveries, DELETE included",
  unit: "ms",
  target: 300,
  measure(environment) {
    const known = changed.get(environment) ?? longestChange(environment);
    changed.set(environment, known);
    return known;
  },
};

async function longestChange(environment: Environment): Promise<number> {
  const { large } = await webhookLists(environment);
  const { port, tokens, webhookId } = large;
  const webhook = `/v2/webhooks/${webhookId}`;
  const headers = { authorization: `Bearer ${tokens[0]}`, "content-type": "application/json" };
  let longest = 0;
  const call = async (method: string, path: string, status: number, body?: unknown): Promise<void> => {
    const began = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}/api${path}`, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    longest = Math.max(longest, performance.now() - began);
    if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  };
  const failed = await failedDelivery(large);
  const lists = async (...queries: string[]): Promise<void> => {
    for (const query of queries) await call("GET", `${webhook}/deliveries${query}`, 200);
  };
  await call("GET", "/v2/webhooks?limit=200", 200);
  await call("GET", webhook, 200);
  await call("GET", `${webhook}/deliveries/${failed}`, 200);
  await call("GET", `${webhook}/stats`, 200);
  await call("GET", `${webhook}/stats?bucket=hour`, 200);
  const month = new Date(Date.now() - 743 * 3_600_000).toISOString();
  await call("GET", `${webhook}/stats?bucket=hour&from=${month}`, 200);
  await call("POST", `${webhook}/test`, 202, {});
  await call("POST", `${webhook}/deliveries/${failed}/redeliver`, 202, {});
  await call("POST", `/webhooks/${webhookId}/rotate-secret`, 200, {});
  await call("PATCH", webhook, 200, { status: "disabled" });
  await lists("", "?status=failed", "?status=pending", "?status=delivered", "?offset=10000&limit=200");
  await call("PATCH", webhook, 200, { status: "enabled" });
  await lists("", "?status=failed", "?status=pending", "?status=failed&offset=10000&limit=200");
  await call("DELETE", webhook, 204);
  await call("GET", webhook, 404);
  return longest;
}

/** Webhook routes at three million deliveries. */
export const webhookRoutes: readonly Row[] = [...ratios, changes];
