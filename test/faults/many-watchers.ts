import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { callRest } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { stubbornClient } from "./client.ts";
import type { WatcherCount, WatcherOptions } from "./watcher-thread.ts";
import { percentile, spreadOf, within } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { owner, startServers } from "./servers.ts";
import { must, marketplaceClient } from "./marketplace-client.ts";

/** Streams a principal may have open. */
const EACH = 100;
/** The p99 of other requests while a change is sent to all watchers (decisions: 100 ms). */
const P99_MS = 100;
/** How long other requests are measured before, and from the change on. */
const MEASURED_MS = 3_000;

/** Many streams watch one install that changes, while another person sends `GET /api/auth/me`. */
export function manyWatchers(watchers: number): Scenario {
  return async (log) => {
    const servers = await startServers(["serve"]);
    let watcherThread: Worker | undefined;
    try {
      const [url = ""] = servers.urls;
      const { login, publish } = marketplaceClient(stubbornClient(servers.urls));
      const token = await login(owner.email, owner.password, owner.org);
      const { slug } = await publish(token, token, "http://127.0.0.1:9/provision");
      const { org_uuid: orgUuid } = must(await callRest(url, "GET", "/api/auth/me", { token }));
      const { install_id: installId } = must(
        await callRest(url, "POST", `/api/marketplace/${slug}/install`, { token, body: {} }),
      );
      const tokens: string[] = [];
      for (let nth = 0; nth < watchers / EACH; nth++) {
        // Streams count under a person, whatever credential holds them.
        const watcher = { email: `watcher${nth}@watchers.test`, password: "correct horse battery staple" };
        const founder = { ...watcher, name: `Herd ${nth}`, first_name: "Watcher" };
        const { user_uuid: userUuid } = must(await callRest(url, "POST", "/api/organizations", { body: founder }));
        await runSql(
          servers.databaseUrl,
          `insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
           values ('${orgUuid}', '${userUuid}', 1, now(), now())`,
        );
        tokens.push(await login(watcher.email, watcher.password, owner.org));
      }
      let count: WatcherCount = { records: 0, ended: 0 };
      const workerData: WatcherOptions = { url, path: `/api/installs/${installId}/watch`, tokens, each: EACH };
      watcherThread = new Worker(new URL("./watcher-thread.ts", import.meta.url), { workerData });
      watcherThread.on("message", (message: WatcherCount) => (count = message));

      const all = tokens.length * EACH;
      if (!(await within(60_000, () => Promise.resolve(count.records >= all))))
        return [`${count.records} of ${all} watchers heard of the present, ${count.ended} streams ended`];
      await sleep(1_000);
      const bystander = async (untilMs: number): Promise<number[]> => {
        const times: number[] = [];
        for (const end = performance.now() + untilMs; performance.now() < end; await sleep(5)) {
          const from = performance.now();
          must(await callRest(url, "GET", "/api/auth/me", { token }));
          times.push(performance.now() - from);
        }
        return times;
      };
      const before = await bystander(MEASURED_MS);
      const during = bystander(MEASURED_MS);
      // Sets the state that a publisher's response would, since no worker runs.
      must(await callRest(url, "DELETE", `/api/installs/${installId}`, { token }));
      const times = await during;
      const heard = await within(30_000, () => Promise.resolve(count.records >= 2 * all));
      log(
        `${all} watchers of one install; another client before: ${spreadOf(before)}; ` +
          `from the change on: ${spreadOf(times)}`,
      );
      const p99 = percentile(times, 0.99);
      return [
        ...(heard ? [] : [`${count.records - all} of ${all} watchers heard of the change`]),
        ...(count.ended === 0 ? [] : [`${count.ended} streams ended`]),
        ...(p99 <= P99_MS ? [] : [`the bystander's p99 was ${Math.round(p99)} ms`]),
      ];
    } finally {
      await watcherThread?.terminate();
      await servers.close();
    }
  };
}
