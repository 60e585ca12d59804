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
] as const;

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
    const side = (size: string, service: Service & Backlogged) =>
      p50Side(environment, size, service, path(service.webhookId), service.tokens.slice(0, 1));
    return [side("3 million deliveries", large), side("10 thousand deliveries", small)];
  },
}));

/** By environment: a webhook can be deleted once. */
const changed = new WeakMap<Environment, Promise<number>>();

/**
 * The longest of the routes that change a webhook of three million deliveries, a third of them open; it is gone at the
 * end.
 */
const changes: FigureRow = {
  kind: "figure",
  name: "webhook-changes",
  title: "longest of test, redelivery, PATCH and DELETE of a webhook with 3 million deliveries",
  unit: "ms",
  target: 300,
  measure(environment) {
    const known = changed.get(environment) ?? longestChange(environment);
    changed.set(environment, known);
    return known;
  },
};

async function longestChange(environment: Environment): Promise<number> {
  const {
    large: { port, tokens, webhookId },
  } = await webhookLists(environment);
  const path = `/api/v2/webhooks/${webhookId}`;
  const headers = { authorization: `Bearer ${tokens[0]}`, "content-type": "application/json" };
  let longest = 0;
  const call = async (method: string, more: string, status: number, body?: unknown): Promise<string> => {
    const began = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}${path}${more}`, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    longest = Math.max(longest, performance.now() - began);
    if (answer.status !== status) throw new Error(`${method} ${more} answered ${answer.status}: ${text}`);
    return text;
  };
  const failed = JSON.parse(await call("GET", "/deliveries?status=failed&limit=1", 200)) as {
    data: { delivery_id: string }[];
  };
  await call("POST", "/test", 202, {});
  await call("POST", `/deliveries/${failed.data[0]?.delivery_id}/redeliver`, 202, {});
  await call("PATCH", "", 200, { status: "disabled" });
  for (const more of ["", "?status=failed", "?status=pending", "?status=delivered", "?offset=10000&limit=200"])
    await call("GET", `/deliveries${more}`, 200);
  await call("PATCH", "", 200, { status: "enabled" });
  for (const more of ["", "?status=failed", "?status=pending", "?status=failed&offset=10000&limit=200"])
    await call("GET", `/deliveries${more}`, 200);
  await call("DELETE", "", 204);
  await call("GET", "", 404);
  return longest;
}

/** Webhook routes at three million deliveries. */
export const webhookRoutes: readonly Row[] = [...ratios, changes];
