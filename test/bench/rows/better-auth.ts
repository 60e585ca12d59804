import type { Serving } from "../baselines/serve.ts";
import type { Helper } from "../processes.ts";
import type { Environment } from "../environment.ts";
import { inFlight, loginJob } from "./logins.ts";
import { meOverRest } from "./me.ts";
import type { RatioRow } from "./row.ts";

/** What the other side sends when it is ready. */
interface Other extends Serving {
  accounts: { email: string; password: string }[];
  cookies: string[];
}

/** Starts better-auth on the same PostgreSQL as the service. */
async function betterAuth(environment: Environment): Promise<Helper<Other>> {
  return environment.server<Other>("baselines/better-auth.ts", {
    DATABASE: await environment.baselineDatabase(),
    PEOPLE: "64",
  });
}

/** `GET /api/auth/me` against a session that better-auth reads from its signed cookie. */
export const meAgainstBetterAuth: RatioRow = {
  kind: "ratio",
  name: "me-better-auth",
  title: "GET /api/auth/me, against better-auth's get-session with its cookie cache",
  unit: "req/s",
  target: 30,
  at: "least",
  async sides(environment) {
    const { ready, pid } = await betterAuth(environment);
    const path = "/api/auth/get-session";
    const file = environment.requests(ready.cookies.map((cookie) => ({ method: "GET", path, headers: { cookie } })));
    const job = { protocol: "http1", port: ready.port, connections: 64, file } as const;
    const ours = await meOverRest(environment);
    return [ours, { name: "better-auth", measure: (seconds) => environment.load({ ...job, seconds }, pid) }];
  },
};

/** Sign-ins of some seconds each are in flight at better-auth: in a short round none might end. */
const MIN_SECONDS = 8;

/** Password sign-in on both sides, each with its own password hash. */
export const loginsAgainstBetterAuth: RatioRow = {
  kind: "ratio",
  name: "logins-better-auth",
  title: "password sign-in, against better-auth's",
  unit: "1/s",
  target: 3,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const { ready, pid } = await betterAuth(environment);
    const headers = { "content-type": "application/json", origin: "http://127.0.0.1" };
    const path = "/api/auth/sign-in/email";
    const requests = ready.accounts.map((account) => ({
      method: "POST",
      path,
      headers,
      body: JSON.stringify(account),
    }));
    const theirs = { protocol: "http1", port: ready.port, file: environment.requests(requests), tools: false } as const;
    const ours = await loginJob(environment);
    return [
      {
        name: "Atrium, logins",
        measure: (seconds) =>
          environment.load({ ...ours, connections: inFlight, seconds: Math.max(seconds, MIN_SECONDS) }, service.pid),
      },
      {
        name: "better-auth, sign-ins",
        measure: (seconds) =>
          environment.load({ ...theirs, connections: inFlight, seconds: Math.max(seconds, MIN_SECONDS) }, pid),
      },
    ];
  },
};
