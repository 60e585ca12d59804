import type { Serving } from "../baselines/serve.ts";
import type { Helper } from "../processes.ts";
import type { Stage } from "../stage.ts";
import { inFlight, loginJob } from "./logins.ts";
import { meOverRest } from "./me.ts";
import type { RatioRow } from "./row.ts";

/** What the other side sends when it is ready. */
interface Other extends Serving {
  accounts: { email: string; password: string }[];
  cookies: string[];
}

/** Starts better-auth on the same PostgreSQL as the service. */
async function betterAuth(stage: Stage): Promise<Helper<Other>> {
  return stage.server<Other>("baselines/better-auth.ts", { DATABASE: await stage.baselineDatabase(), PEOPLE: "64" });
}

/** `GET /api/auth/me` against a session that better-auth reads from its signed cookie. */
export const meAgainstBetterAuth: RatioRow = {
  kind: "ratio",
  name: "me-better-auth",
  title: "GET /api/auth/me, against better-auth's get-session with its cookie cache",
  unit: "req/s",
  target: 30,
  at: "least",
  async sides(stage) {
    const { ready, pid } = await betterAuth(stage);
    const path = "/api/auth/get-session";
    const file = stage.requests(ready.cookies.map((cookie) => ({ method: "GET", path, headers: { cookie } })));
    const job = { protocol: "http1", port: ready.port, connections: 64, file } as const;
    const ours = await meOverRest(stage);
    return [ours, { name: "better-auth", measure: (seconds) => stage.load({ ...job, seconds }, pid) }];
  },
};

/** Password sign-in on both sides, each with its own password hash. */
export const loginsAgainstBetterAuth: RatioRow = {
  kind: "ratio",
  name: "logins-better-auth",
  title: "password sign-in, against better-auth's",
  unit: "1/s",
  target: 3,
  at: "least",
  async sides(stage) {
    const service = await stage.service();
    const { ready, pid } = await betterAuth(stage);
    const headers = { "content-type": "application/json", origin: "http://127.0.0.1" };
    const path = "/api/auth/sign-in/email";
    const requests = ready.accounts.map((account) => ({
      method: "POST",
      path,
      headers,
      body: JSON.stringify(account),
    }));
    const theirs = { protocol: "http1", port: ready.port, file: stage.requests(requests), tools: false } as const;
    const ours = await loginJob(stage);
    return [
      {
        name: "Atrium, logins",
        measure: (seconds) => stage.load({ ...ours, connections: inFlight, seconds }, service.pid),
      },
      {
        name: "better-auth, sign-ins",
        measure: (seconds) => stage.load({ ...theirs, connections: inFlight, seconds }, pid),
      },
    ];
  },
};
