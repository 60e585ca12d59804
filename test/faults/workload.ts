import { setTimeout as sleep } from "node:timers/promises";
import { stubbornClient } from "./client.ts";
import type { StubbornClient } from "./client.ts";
import { behaviours, startPeer } from "./peers.ts";
import type { Behaviour, Peer } from "./peers.ts";
import { owner } from "./servers.ts";
import type { Servers } from "./servers.ts";
import { must, marketplaceClient } from "./marketplace-client.ts";

/** How a publisher completes an install. */
const outcomes = ["done", "accepted", "refused", "given back"] as const;
/** One of {@link outcomes}. */
export type Outcome = (typeof outcomes)[number];

/** Acknowledged installs and events. */
export interface Acknowledged {
  installs: { installId: string; outcome: Outcome }[];
  /** Ids of deliveries of test events. */
  deliveries: string[];
}

/** What a workload has set up. */
export interface Workload {
  client: StubbornClient;
  publisher: Peer;
  receiver: Peer;
  /** Makes the installs and events, evenly over `spreadMs` or later, at most `lanes` at a time. */
  load(installs: number, events: number, lanes: number, spreadMs: number): Promise<Acknowledged>;
  close(): Promise<void>;
}

interface Shop {
  slug: string;
  outcome: Outcome;
}
interface Buyer {
  token: string;
  webhookId: string;
}

/**
 * Publishes an app for every way to misbehave and every outcome, and signs up `buyers` organizations with a webhook
 * each.
 */
export async function prepare({ urls }: Servers, buyerCount: number, appsEach: number): Promise<Workload> {
  const client = stubbornClient(urls);
  const secrets = new Map<string, string>();
  const reports = new Set<Promise<unknown>>();
  const mannerOf = (endpoint: string): Behaviour => endpoint.split(".")[0] as Behaviour;
  const publisher = await startPeer(mannerOf, (endpoint, { type, data }) => {
    const outcome = endpoint.split(".")[1] ?? "";
    if (outcome === "refused") return 422;
    if (outcome !== "accepted" || (type !== "install.provisioning" && type !== "install.deprovisioning")) return 200;
    const report = sleep(100).then(() =>
      client.report(data.callback_url ?? "", secrets.get(endpoint) ?? "", {
        status: type === "install.provisioning" ? "active" : "deprovisioned",
      }),
    );
    reports.add(report);
    void report.finally(() => reports.delete(report));
    return 202;
  });
  const receiver = await startPeer(
    (endpoint) => (Math.random() < 0.1 ? mannerOf(endpoint) : "good"),
    () => 200,
  );

  const { login, newcomer, publish, listen } = marketplaceClient(client);
  const [platform, seller] = [await login(owner.email, owner.password, owner.org), await newcomer()];
  const shops: Shop[] = [];
  for (let nth = 0; nth < appsEach; nth++) {
    const [manner, outcome] = [
      behaviours[nth % behaviours.length] ?? "good",
      outcomes[nth % outcomes.length] ?? "done",
    ];
    const endpoint = `${manner}.${outcome === "given back" ? "done" : outcome}.${nth}`;
    const { slug, secret } = await publish(seller, platform, publisher.url(endpoint));
    publisher.useSecret(endpoint, secret);
    secrets.set(endpoint, secret);
    shops.push({ slug, outcome });
  }
  const buyers: Buyer[] = [];
  for (let nth = 0; nth < buyerCount; nth++) {
    const token = await newcomer();
    const endpoint = `${behaviours[nth % behaviours.length]}.hook.${nth}`;
    const { webhookId, secret } = await listen(token, receiver.url(endpoint), [
      "install.provisioning",
      "install.active",
      "install.failed",
      "install.deprovisioning",
      "install.deprovisioned",
    ]);
    receiver.useSecret(endpoint, secret);
    buyers.push({ token, webhookId });
  }

  async function install({ token }: Buyer, { slug, outcome }: Shop): Promise<Acknowledged["installs"][number]> {
    const { install_id: installId } = must(
      await client.call("POST", `/api/marketplace/${slug}/install`, token, {}),
    ) as { install_id: string };
    if (outcome === "given back") {
      // Half of them during provisioning.
      await sleep(Math.random() < 0.5 ? 0 : 1_000);
      const { status, text } = await client.call("DELETE", `/api/installs/${installId}`, token);
      // 409: an earlier attempt succeeded and its response was lost.
      if (status !== 202 && status !== 409) throw new Error(`giving back answered ${status}: ${text}`);
    }
    return { installId, outcome };
  }

  return {
    client,
    publisher,
    receiver,
    async load(installs, events, lanes, spreadMs) {
      const done: Acknowledged = { installs: [], deliveries: [] };
      const jobs: (() => Promise<void>)[] = [];
      const pairs = buyers.flatMap((buyer) => shops.map((shop) => ({ buyer, shop }))).slice(0, installs);
      for (const { buyer, shop } of pairs) jobs.push(async () => void done.installs.push(await install(buyer, shop)));
      for (let nth = 0; nth < events; nth++) {
        const buyer = buyers[nth % buyers.length];
        if (buyer !== undefined)
          jobs.push(
            async () =>
              void done.deliveries.push(
                must(await client.call("POST", `/api/v2/webhooks/${buyer.webhookId}/test`, buyer.token))
                  .delivery_id as string,
              ),
          );
      }
      // Mixed, so that both go on as long as the load does.
      const order = jobs
        .map((job, at) => ({ job, at: at < pairs.length ? (at / pairs.length) * events : at - pairs.length }))
        .sort((a, b) => a.at - b.at);
      const [since, between] = [Date.now(), spreadMs / order.length];
      let begun = 0;
      const lane = async (): Promise<void> => {
        for (let next = order.shift(); next !== undefined; next = order.shift()) {
          await sleep(Math.max(0, since + between * begun++ - Date.now()));
          await next.job();
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      return done;
    },
    async close() {
      await Promise.all(reports);
      await Promise.all([publisher.close(), receiver.close()]);
    },
  };
}
