import { setTimeout as sleep } from "node:timers/promises";
import { callRest } from "../support/app.ts";
import { stubbornClient } from "./client.ts";
import { percentile } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { owner, startServers } from "./servers.ts";
import { marketplaceClient } from "./marketplace-client.ts";

const AWAY_MS = 10_000;
/** Longest wait for a refusal, and for readiness after the database is back. */
const REFUSED_MS = 10_000;
const READY_MS = 5_000;

interface Met {
  /** Times of request and response, milliseconds since the epoch. */
  from: number;
  to: number;
  what: string;
  status: number;
  retryAfter: boolean;
}

/** PostgreSQL is stopped, then suspended, for 10 s each, while requests continue. */
export const postgresAway: Scenario = async (log) => {
  const wrong: string[] = [];
  const servers = await startServers();
  try {
    const [url = ""] = servers.urls;
    const token = await marketplaceClient(stubbornClient(servers.urls)).login(owner.email, owner.password, owner.org);
    const asked: Readonly<Record<string, () => ReturnType<typeof callRest>>> = {
      "a list": () => callRest(url, "GET", "/api/installs", { token }),
      "a sign-in": () =>
        callRest(url, "POST", "/api/auth/login", {
          body: { email: owner.email, password: owner.password, org_name: owner.org },
        }),
      "a registration": () =>
        callRest(url, "POST", "/api/v2/webhooks", {
          token,
          body: { url: "https://orbit.example/", events: ["user.created"] },
        }),
      "/readyz": () => callRest(url, "GET", "/readyz"),
    };
    const before = servers.pids();
    for (const [how, away] of [
      ["stopped", servers.stopPostgres],
      ["held still", servers.freezePostgres],
    ] as const) {
      const met: Met[] = [];
      let on = true;
      const lanes = Object.entries(asked).flatMap(([what, ask]) =>
        [1, 2, 3].map(async () => {
          while (on) {
            const from = Date.now();
            const { status, headers } = await ask();
            met.push({ from, to: Date.now(), what, status, retryAfter: headers.has("retry-after") });
            await sleep(50);
          }
        }),
      );
      await sleep(1_000);
      const gone = Date.now();
      const readyMs = await away(AWAY_MS);
      const ready = Date.now();
      await sleep(1_000);
      on = false;
      await Promise.all(lanes);

      const refused = met.filter(({ status }) => status === 503);
      // Requests that began and ended while it was certainly away; a stop takes some time.
      const meanwhile = met.filter(({ from, to }) => from > gone + 1_000 && to < gone + AWAY_MS);
      const longest = Math.max(...met.map(({ from, to }) => to - from));
      const p99 = percentile(
        refused.map(({ from, to }) => to - from),
        0.99,
      );
      log(
        `PostgreSQL ${how} for ${AWAY_MS} ms: ${refused.length} responses of 503 with p99 ${p99} ms, ` +
          `longest response ${longest} ms, ready ${readyMs} ms after its return`,
      );
      if (longest > REFUSED_MS) wrong.push(`an answer took ${longest} ms while PostgreSQL was ${how}`);
      if (readyMs > READY_MS) wrong.push(`ready ${readyMs} ms after PostgreSQL had been ${how}`);
      if (refused.length === 0) wrong.push(`nothing was refused while PostgreSQL was ${how}`);
      for (const what of Object.keys(asked)) {
        const other = new Set(
          meanwhile.filter((one) => one.what === what && one.status !== 503).map(({ status }) => status),
        );
        if (other.size > 0) wrong.push(`${what} was answered ${[...other].join()} while PostgreSQL was ${how}`);
        if (refused.some((one) => one.what === what && !one.retryAfter))
          wrong.push(`${what} was refused without Retry-After while PostgreSQL was ${how}`);
        const after = new Set(
          met.filter((one) => one.what === what && one.from > ready && one.status >= 400).map(({ status }) => status),
        );
        if (after.size > 0)
          wrong.push(
            `${what} was answered ${[...after].join()} after PostgreSQL had been ${how} and the service was ready`,
          );
      }
    }
    const after = servers.pids();
    const alive = before.join() === after.join() && after.every((pid) => process.kill(pid, 0));
    log(`the same process all the while: ${alive ? "yes" : "no"}`);
    if (!alive) wrong.push("the service's process did not live through it");
    return wrong;
  } finally {
    await servers.close();
  }
};
