import { setTimeout as sleep } from "node:timers/promises";
import { runSql } from "../support/postgres.ts";
import { callRest } from "../support/app.ts";
import { stubbornClient } from "./client.ts";
import { startPeer } from "./peers.ts";
import { inLanes, spreadOf, within } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { owner, startServers } from "./servers.ts";
import { must, marketplaceClient } from "./marketplace-client.ts";

/** Amount of work. */
export interface AwayOptions {
  installs: number;
  /** Events whose first attempt fails, over `endpoints`. */
  events: number;
  endpoints: number;
  /** Longest time from the return until all of it has ended, milliseconds. */
  drainedMs: number;
}

/** The figures of the survival line. */
export const fullBacklog: AwayOptions = { installs: 200, events: 10_000, endpoints: 50, drainedMs: 60_000 };

/** Apps of the market; every buyer installs each. */
const APPS = 10;

/**
 * Temporal away. What piles up then are installs to be provisioned and deliveries whose first attempt failed, with the
 * outbox messages that hand them to their workflows: one for each install, and one for all that an endpoint failed to
 * take in a moment. First attempts themselves need no Temporal and go on.
 */
export const temporalAway =
  ({ installs, events, endpoints, drainedMs }: AwayOptions): Scenario =>
  async (log) => {
    const wrong: string[] = [];
    const servers = await startServers();
    const publisher = await startPeer(
      () => "good",
      () => 200,
    );
    const receiver = await startPeer(
      (endpoint) => (endpoint === "good" ? "good" : "error"),
      () => 200,
    );
    const count = async (sql: string): Promise<number> =>
      Number((await runSql<{ n: string }>(servers.databaseUrl, `select count(*) as n from ${sql}`))[0]?.n);
    try {
      const [url = ""] = servers.urls;
      const client = stubbornClient(servers.urls);
      const { login, newcomer, publish, listen } = marketplaceClient(client);
      const [platform, seller] = [await login(owner.email, owner.password, owner.org), await newcomer()];
      const slugs: string[] = [];
      for (let nth = 0; nth < APPS; nth++) {
        const { slug, secret } = await publish(seller, platform, publisher.url(`app-${nth}`));
        publisher.useSecret(`app-${nth}`, secret);
        slugs.push(slug);
      }
      const buyers: string[] = [];
      for (let nth = 0; nth < Math.ceil(installs / APPS); nth++) buyers.push(await newcomer());
      const hooks: string[] = [];
      for (let nth = 0; nth <= endpoints; nth++) {
        const name = nth === 0 ? "good" : `endpoint-${nth}`;
        const { webhookId, secret } = await listen(seller, receiver.url(name), ["user.created"]);
        receiver.useSecret(name, secret);
        hooks.push(webhookId);
      }
      const [good = "", ...failing] = hooks;
      const tell = async (webhookId: string): Promise<void> =>
        void must(await client.call("POST", `/api/v2/webhooks/${webhookId}/test`, seller));

      await servers.endTemporal();
      const took: number[] = [];
      const statuses = new Set<number>();
      const install = (token: string, slug: string) => async (): Promise<void> => {
        const since = performance.now();
        statuses.add((await callRest(url, "POST", `/api/marketplace/${slug}/install`, { token, body: {} })).status);
        took.push(performance.now() - since);
      };
      await inLanes(buyers.flatMap((token) => slugs.map((slug) => install(token, slug))).slice(0, installs), 8);
      log(`Temporal away: ${installs} installs answered ${[...statuses].join()}, ${spreadOf(took)}`);
      if ([...statuses].join() !== "202")
        wrong.push(`installs were answered ${[...statuses].join()} while Temporal was away`);

      await sleep(1_000);
      const { status, text } = await callRest(url, "GET", "/readyz");
      log(`/readyz: ${status} ${text}`);
      if (status !== 200 || (JSON.parse(text) as { temporal: string }).temporal === "ok")
        wrong.push("/readyz did not log that Temporal is away, or was not 200");

      const since = Date.now();
      const beside = Math.min(100, events);
      await inLanes(
        [
          ...Array.from({ length: events }, (_, at) => () => tell(failing[at % endpoints] ?? "")),
          ...Array.from({ length: beside }, () => () => tell(good)),
        ],
        48,
      );
      const tried = await within(
        Math.max(60_000, drainedMs),
        async () => (await count("webhook_deliveries where status = 'pending' and tries = 0")) === 0,
      );
      const delivered = await count("webhook_deliveries where status = 'delivered'");
      log(
        `first attempts continued: ${events + beside} events, all attempted ` +
          `${((Date.now() - since) / 1_000).toFixed(1)} s after the first was created, ${delivered} delivered`,
      );
      if (!tried || delivered !== beside) wrong.push("first attempts did not go on while Temporal was away");
      const [messages, open, waiting] = [
        await count("outbox where topic in ('install.changed', 'webhook.retry')"),
        await count("webhook_deliveries where status = 'pending'"),
        await count("installs where status = 'provisioning'"),
      ];
      log(`waiting for Temporal: ${messages} outbox messages of ${open} deliveries and ${waiting} installs`);
      if (messages < endpoints || open < events || waiting < installs) wrong.push("not everything was made to wait");

      servers.startTemporal();
      const back = Date.now();
      const drained = await within(
        drainedMs * 2,
        async () =>
          (await count("outbox where topic not like 'mail.%'")) +
            (await count("webhook_deliveries where status <> 'delivered'")) +
            (await count("installs where status <> 'active'")) ===
          0,
      );
      const ms = Date.now() - back;
      const undelivered = await count("webhook_deliveries where status <> 'delivered'");
      const inactive = await count("installs where status <> 'active'");
      log(
        drained
          ? `everything was done ${(ms / 1_000).toFixed(1)} s after Temporal was started again`
          : `after ${(ms / 1_000).toFixed(1)} s, ${undelivered} deliveries and ${inactive} installs were not done`,
      );
      if (!drained || ms > drainedMs)
        wrong.push(`the backlog took ${(ms / 1_000).toFixed(1)} s of ${drainedMs / 1_000} s`);
      const again = [...publisher.got.values()].filter(({ times }) => times > 1).length;
      if (publisher.got.size !== installs || again > 0 || publisher.forged + receiver.forged > 0)
        wrong.push(
          `the publisher was asked for ${publisher.got.size} of ${installs} installs, for ${again} of them again`,
        );
      return wrong;
    } finally {
      await servers.close();
      await Promise.all([publisher.close(), receiver.close()]);
    }
  };
