import { callRest } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { startKeyedWrites } from "./keyed-writes.ts";
import type { Scenario } from "./scenario.ts";
import { owner, startServers } from "./servers.ts";
import { must } from "./marketplace-client.ts";

/** Writes in flight at any time. */
const LANES = 16;

/** Instances that are down at a time; one more runs. */
const DOWN = 2;

/** Three instances are killed in turn under writes with Idempotency-Keys; what was in flight is sent again at once. */
export function killedKeys(kills: number): Scenario {
  return async (log) => {
    const servers = await startServers(Array.from({ length: DOWN + 1 }, () => "serve" as const));
    try {
      const [url = ""] = servers.urls;
      const body = { email: owner.email, password: owner.password, org_name: owner.org };
      const { access_token: token } = must(await callRest(url, "POST", "/api/auth/login", { body }));
      const draft = draftOf("listed-often", "http://127.0.0.1:9/provision");
      const { app_id: appId } = must(await callRest(url, "POST", "/api/marketplace/apps", { token, body: draft }));
      const writes = startKeyedWrites(servers.urls, servers.databaseUrl, token, appId, LANES);
      let left = kills;
      const killInTurn = async (): Promise<void> => {
        while (left-- > 0) {
          await servers.kill("serve");
          if (left % 50 === 0 && left > 0) log(`${left} kills left`);
        }
      };
      await Promise.all(Array.from({ length: DOWN }, killInTurn));
      const { wrong, ...met } = await writes.report();
      log(
        `${kills} kills; ${met.writes} writes, ${met.repeated} sent more than once, ` +
          `${met.replayed} with a stored response`,
      );
      if (met.repeated === 0) wrong.push("no write was in flight when an instance was killed");
      return wrong.slice(0, 10);
    } finally {
      await servers.close();
    }
  };
}
