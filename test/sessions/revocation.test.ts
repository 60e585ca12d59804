import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { ConnectError, Code } from "@connectrpc/connect";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
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

/** Whether a token opens something, asked over one of three protocols. */
type Use = (token: string) => Promise<boolean>;

function usesOf(app: TestApp): Use[] {
  const over = (transport: Parameters<typeof createClient>[1]): Use => {
    const client = createClient(AccessService, transport);
    return (token) =>
      client.getMe({}, { headers: { authorization: `Bearer ${token}` } }).then(
        () => true,
        (error: unknown) => {
          if (ConnectError.from(error).code === Code.Unauthenticated) return false;
          throw error;
        },
      );
  };
  const rest: Use = async (token) => {
    const { status } = await app.call("GET", "/api/auth/me", { token });
    if (status !== 200 && status !== 401) throw new Error(`answered ${status}`);
    return status === 200;
  };
  return [
    rest,
    over(createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" })),
    over(createGrpcTransport({ baseUrl: app.url })),
  ];
}

/**
 * Repeats a call while it returns 503; a later response may say that an earlier call succeeded.
 */
async function persistently(call: () => Promise<Answer>): Promise<Answer & { again: boolean }> {
  for (let tries = 1; ; tries++) {
    const answer = await call();
    if (answer.status !== 503 || tries > 20) return { ...answer, again: tries > 1 };
  }
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
        if (!(await use(victim.token))) unused++;
        await revoke(victim, at);
        if (await use(victim.token)) leaks++;
      }
    }

    await Promise.all(Array.from({ length: lanes }, lane));
    expect({ leaks, unused }).toEqual({ leaks: 0, unused: 0 });
  },
  60_000 + pairs * 100,
);
