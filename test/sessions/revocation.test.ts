import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { ConnectError, Code } from "@connectrpc/connect";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { persistently } from "../support/persistently.ts";
import { held, signIn } from "./support.ts";
import type { Held } from "./support.ts";

/** Pairs of a revocation and a use. */
const pairs = Number(process.env["REVOCATION_PAIRS"] ?? 500);
const lanes = 8;

let instances: TestApp[];
let owner: Somebody;
beforeAll(async () => {
  const app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  instances = [app, await startApp({ databaseUrl: app.databaseUrl, clock: app.clock })];
  owner = await founder(app);
});
afterAll(async () => {
  for (const instance of instances.toReversed()) await instance.close();
});

/** A call with a token over one of three protocols; resolves to the status. */
type Use = (token: string) => Promise<{ status: number }>;

const statusOf: Partial<Record<Code, number>> = { [Code.Unauthenticated]: 401, [Code.Unavailable]: 503 };

/** Whether a token opens something. */
async function opens(use: Use, token: string): Promise<boolean> {
  const { status } = await persistently(() => use(token));
  if (status !== 200 && status !== 401) throw new Error(`a use answered ${status}`);
  return status === 200;
}

function usesOf(app: TestApp): Use[] {
  const over = (transport: Parameters<typeof createClient>[1]): Use => {
    const client = createClient(AccessService, transport);
    return (token) =>
      client.getMe({}, { headers: { authorization: `Bearer ${token}` } }).then(
        () => ({ status: 200 }),
        (error: unknown) => {
          const status = statusOf[ConnectError.from(error).code];
          if (status === undefined) throw error;
          return { status };
        },
      );
  };
  return [
    (token) => app.call("GET", "/api/auth/me", { token }),
    over(createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" })),
    over(createGrpcTransport({ baseUrl: app.url })),
  ];
}

it(
  `no token is accepted after its revocation: ${pairs} alternating revocations and uses on two instances`,
  async () => {
    const uses = instances.map(usesOf);
    let [made, leaks, unused] = [0, 0, 0];

    /** A fresh session of the owner, by switching on a device: no password to check. */
    async function fresh(base: Held, account: string, at: number): Promise<Held> {
      const app = instances[at % 2] as TestApp;
      const { status, body } = await persistently(() =>
        app.call("POST", `/api/devices/${base.device}/active-account`, {
          token: base.token,
          body: { account_id: account },
        }),
      );
      if (status !== 200) throw new Error(`switching answered ${status}`);
      return held(body, base.device);
    }

    async function revoke(victim: Held, at: number): Promise<void> {
      const app = instances[at % 2] as TestApp;
      const answer = await persistently(() =>
        at % 3 === 0
          ? app.call("POST", "/api/auth/logout", { token: victim.token })
          : app.call("DELETE", `/api/organizations/${owner.org}/session-inventory/${victim.sid}`, {
              token: owner.token,
            }),
      );
      const done = answer.status === 204 || (answer.again && (answer.status === 401 || answer.status === 409));
      if (!done) throw new Error(`revocation answered ${answer.status}`);
    }

    async function lane(): Promise<void> {
      const app = instances[0] as TestApp;
      const base = await signIn(app, owner, randomUUID());
      const account = (await app.call("GET", `/api/devices/${base.device}/accounts`, { token: base.token })).body
        .data[0].id as string;
      while (made < pairs) {
        const at = made++;
        const victim = await fresh(base, account, at);
        const use = uses[(at + 1) % 2]?.[at % 3] as Use;
        if (!(await opens(use, victim.token))) unused++;
        await revoke(victim, at);
        if (await opens(use, victim.token)) leaks++;
      }
    }

    await Promise.all(Array.from({ length: lanes }, lane));
    expect({ leaks, unused }).toEqual({ leaks: 0, unused: 0 });
  },
  600_000 + pairs * 1_000,
);
