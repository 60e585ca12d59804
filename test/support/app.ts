import { compose } from "../../src/app/program.ts";
import type { App, Role } from "../../src/app/app.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/platform/config.ts";
import { silentLog } from "../../src/platform/log.ts";
import type { Log } from "../../src/platform/log.ts";
import { systemRandom } from "../../src/platform/random.ts";
import type { Random } from "../../src/platform/random.ts";
import { testClock } from "./clock.ts";
import type { TestClock } from "./clock.ts";
import { testDatabase } from "./database.ts";
import { undeclaredErrors } from "./declared-errors.ts";
import { undocumentedEvents } from "./documented-events.ts";
import { persistently } from "./persistently.ts";

/** A response over REST, its body parsed when it is JSON. */
export interface Answer {
  status: number;
  headers: Headers;
  // Tests read responses of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
  text: string;
}

/** Options of {@link startApp}. */
export interface AppOptions {
  /** Further settings, as environment variables. */
  env?: Record<string, string>;
  /** Default `serve`: no worker, no Temporal. */
  role?: Role;
  /** Database of another app, to run a second instance on it. */
  databaseUrl?: string;
  /** Where workflows run; required for roles with a worker. */
  temporal?: { address: string; namespace: string };
  /** Default: a clock that the test advances. */
  clock?: Clock;
  /** Default: the system's. */
  random?: Random;
  log?: Log;
  /** Folder of the built console; without one no console is served. */
  consoleFolder?: string;
  /** Whether a missing build is being made; default: yes. */
  isConsoleBuilding?: boolean;
  /** Starts without a master key. */
  sealedVault?: boolean;
  /** Another master key than {@link MASTER_KEY}. */
  masterKey?: Buffer;
  /** Another instance key than {@link INSTANCE_KEY}. */
  instanceKey?: Buffer;
  /** Hashes passwords at the cost of production; default: {@link CHEAP_PASSWORDS}. */
  costlyPasswords?: boolean;
}

/** The whole program in this process, on its own port and database. */
export interface TestApp {
  /** `http://127.0.0.1:port`. */
  url: string;
  databaseUrl: string;
  /** Where mutual TLS is served, and the certificate that clients trust. */
  mutualTls: { address: string; certificate: string } | undefined;
  /** Has an effect only when no clock was given. */
  clock: TestClock;
  owner: { email: string; password: string; org: string };
  /** One call over REST. */
  call(
    method: string,
    path: string,
    options?: { token?: string | undefined; body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
  /** Access token of a password login. */
  login(email?: string, password?: string, orgName?: string): Promise<string>;
  /** Newest mail to an address; waits for the dispatcher. Requires a role with a worker. */
  mailTo(email: string): Promise<{ subject: string; text: string; html: string }>;
  /** @throws when it did something that the contract does not say: an error code, the data of an event */
  close(): Promise<void>;
}

/** Key of every instance of a test: instances of one database must share it. */
export const INSTANCE_KEY = Buffer.alloc(32, 7);
/** Master key of every instance of a test, unless it says otherwise. */
export const MASTER_KEY = Buffer.alloc(32, 9);
/** Tests make thousands of people; only a test of the cost itself needs that of production. */
export const CHEAP_PASSWORDS = { memoryCost: 1_024, timeCost: 1, parallelism: 1 } as const;
/** Lifetimes of access tokens by the machine's clock: on a busy machine tests outlast the default ones. */
const LONG_TOKENS = { SERVICE_TTL_ACCESS: "1d", SERVICE_TTL_PAIR: "1d" } as const;
const owner = { email: "owner@acme.test", password: "correct horse battery staple", org: "Acme" };

/** How a request is sent: `fetch`, or over a connection of one's own. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** One call over REST to `url`. */
export async function callRest(
  url: string,
  method: string,
  path: string,
  options: { token?: string | undefined; body?: unknown; headers?: Record<string, string>; fetch?: Fetch } = {},
): Promise<Answer> {
  const { token, body, headers, fetch: send = fetch } = options;
  const response = await send(`${url}${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = /^application\/([a-z.]+\+)?json/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: json && text !== "" ? JSON.parse(text) : undefined,
  };
}

/** Starts the program with an owner of Acme in its database. */
export async function startApp(options: AppOptions = {}): Promise<TestApp> {
  const clock = testClock();
  const database = options.databaseUrl === undefined ? await testDatabase() : undefined;
  const databaseUrl = options.databaseUrl ?? database?.url ?? "";
  const config = readConfig({
    PORT: "0",
    SERVICE_BASE_URL: "http://atrium.test",
    SERVICE_LOG_LEVEL: "silent",
    ...(options.clock?.isMachine === true && LONG_TOKENS),
    ...options.env,
  });
  const app: App = await compose(config, {
    role: options.role ?? "serve",
    databaseUrl,
    temporal: options.temporal ?? { address: "127.0.0.1:1", namespace: "none" },
    instanceKey: options.instanceKey ?? INSTANCE_KEY,
    masterKey: options.sealedVault === true ? undefined : Buffer.from(options.masterKey ?? MASTER_KEY),
    bootstrap: owner,
    consoleFolder: options.consoleFolder,
    isConsoleBuilding: () => options.isConsoleBuilding ?? true,
    passwordCost: options.costlyPasswords === true ? undefined : CHEAP_PASSWORDS,
    log: options.log ?? silentLog,
    clock: options.clock ?? clock,
    random: options.random ?? systemRandom,
  });
  const { address: url = "", mutualTls } = await app.start();
  const call: TestApp["call"] = (method, path, rest) => callRest(url, method, path, rest);

  return {
    url,
    databaseUrl,
    mutualTls,
    clock,
    owner,
    call,
    async login(email = owner.email, password = owner.password, orgName = owner.org) {
      const answer = await persistently(() =>
        call("POST", "/api/auth/login", { body: { email, password, org_name: orgName } }),
      );
      if (answer.status !== 200) throw new Error(`login of ${email} answered ${answer.status}: ${answer.text}`);
      return answer.body.access_token as string;
    },
    async mailTo(email) {
      for (let attempt = 0; attempt < 4_800; attempt++) {
        const { body } = await call("GET", "/dev/mailbox.json");
        const mail = (body as { to: string; subject: string; text: string; html: string }[]).find(
          ({ to }) => to === email,
        );
        if (mail !== undefined) return mail;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      throw new Error(`no mail to ${email}`);
    },
    async close() {
      await app.stop(2_000);
      const faults = [
        ...undeclaredErrors(app.calls()),
        ...(database === undefined ? [] : await undocumentedEvents(databaseUrl)),
      ];
      await database?.close();
      if (faults.length > 0) throw new Error(`The contract does not say:\n${faults.join("\n")}`);
    },
  };
}
