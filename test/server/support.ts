import type { DescService } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import type { HandlerContext } from "@connectrpc/connect";
import { caller, requestInfo } from "../../src/platform/caller.ts";
import type { Caller } from "../../src/platform/caller.ts";
import { errorRow, errors, ServiceError } from "../../src/platform/errors.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { registration } from "../../src/platform/rpc.ts";
import { createServer } from "../../src/server/index.ts";
import type { IdempotencyStore, RateLimiter, ServerOptions } from "../../src/server/index.ts";
import { EchoService } from "./contract.ts";

export const org = "0b8f6a9e-1f5a-4c8e-9a53-0d2f6c1b7a01";
export const otherOrg = "0b8f6a9e-1f5a-4c8e-9a53-0d2f6c1b7a02";
export const thing = "0b8f6a9e-1f5a-4c8e-9a53-0d2f6c1b7a03";
export const app = "0b8f6a9e-1f5a-4c8e-9a53-0d2f6c1b7a04";

const base: Caller = {
  principal: { type: "user", id: "u1" },
  userUuid: "u1",
  email: "u@x.test",
  orgUuid: org,
  orgName: "Acme",
  sessionId: "s1",
  roles: [],
  isOwner: false,
  isAdmin: true,
  isPlatformAdmin: false,
  isSuperuser: false,
  isOperator: false,
  canWriteVault: false,
  entitlements: [],
  appAdmin: [],
  sandbox: false,
  scopes: null,
  elevated: false,
  claims: null,
  expiresAt: null,
  reauthorize: () => Promise.resolve(),
};

/** Callers by token. */
const callers: Record<string, Partial<Caller>> = {
  admin: {},
  plain: { isAdmin: false },
  elevated: { elevated: true },
  orgless: { orgUuid: null },
  reader: { principal: { type: "api_key", id: "k1" }, scopes: new Set(["read:users"]) },
  writer: { principal: { type: "api_key", id: "k2" }, scopes: new Set(["write:users"]), elevated: true },
  scoped: { principal: { type: "api_key", id: "k3" }, scopes: new Set(["admin"]) },
  scim: { principal: { type: "automation_token", id: "t1" } },
};

function callerOf(token: string): Caller {
  const found = callers[token];
  if (found === undefined) throw errors.unauthorized();
  return { ...base, ...found };
}

interface Names {
  name: string;
  how: string;
  to: number;
  fail: string;
}

let created = 0;

const me = (_request: Names, context: HandlerContext) => ({
  userUuid: caller(context).principal.id,
  requestId: requestInfo(context).requestId,
});

const failures: Record<string, () => Error> = {
  secret: () => new Error("the password is hunter2"),
  away: () => Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:5432"), { code: "ECONNREFUSED" }),
  conflict: () => errors.conflict(),
  duplicate: () => new ServiceError([409, "conflict", "It is here already.", "duplicate"]),
  limited: () => errors.rateLimited({ retryAfter: 2.1 }),
};

/** The error that a text such as `423 vault_sealed` names. */
function stated(how: string): Error | undefined {
  const [, status, code] = /^(\d{3}) (\w+)$/u.exec(how) ?? [];
  return code === undefined ? undefined : new ServiceError(errorRow(Number(status), code, "It failed."));
}

const waiting: (() => void)[] = [];

/** Calls of `fail` with `how: "held"`, which end when a test releases them, whatever their signal says. */
export const heldCalls = {
  wait: () => new Promise<void>((resolve) => void waiting.push(resolve)),
  count: () => waiting.length,
  release: () => waiting.splice(0).forEach((end) => end()),
};

const implementation = {
  hello: (request: Names) => ({ greetingText: `hello ${request.name}` }),
  /** Returns a response of `to` bytes. */
  large: (request: Names) => ({ greetingText: "x".repeat(request.to) }),
  me,
  create: (request: Names) => ({ number: ++created, name: request.name }),
  org: me,
  app: me,
  login: () => ({}),
  audit: me,
  scimUser: me,
  async fail(request: Names) {
    if (request.how === "held") await heldCalls.wait();
    const failure = failures[request.how]?.() ?? stated(request.how);
    if (failure !== undefined) throw failure;
    return {};
  },
  async *count(request: Names) {
    for (let number = 1; number <= request.to; number++) yield { number };
    const failure = failures[request.fail]?.();
    if (failure !== undefined) throw failure;
    await Promise.resolve();
  },
  /** Sends one message and waits until the client disconnects. */
  async *watch(_request: Names, context: HandlerContext) {
    yield { number: 1 };
    await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
  },
};

/** Stores responses in memory, as the real store does in the database. */
function memoryStore(): Pick<IdempotencyStore, "begin"> {
  const kept = new Map<string, { print: string; answer: Buffer | undefined }>();
  return {
    async begin(scope, fingerprint) {
      const key = JSON.stringify(scope);
      const found = kept.get(key);
      if (found !== undefined && found.print !== fingerprint.toString("hex")) throw errors.idempotencyMismatch();
      if (found?.answer !== undefined) return { replay: found.answer };
      if (found !== undefined) throw errors.conflict();
      const record: { print: string; answer: Buffer | undefined } = {
        print: fingerprint.toString("hex"),
        answer: undefined,
      };
      kept.set(key, record);
      const claim = {
        effect: { hold: () => false },
        async finish(answer: Buffer) {
          record.answer = answer;
        },
        async abandon() {
          kept.delete(key);
        },
      };
      return { replay: undefined, claim };
    },
  };
}

/** Counts without ever ending a window. */
function countingLimiter(): RateLimiter {
  const taken = new Map<string, number>();
  return {
    take(budget, subject) {
      const key = `${budget.name} ${subject}`;
      const count = (taken.get(key) ?? 0) + 1;
      taken.set(key, count);
      return count > budget.limit ? 1_500 : 0;
    },
  };
}

export interface Running {
  port: number;
  url: string;
  metrics: ReturnType<typeof createMetrics>;
  close: (graceMs?: number) => Promise<void>;
  fetch: (path: string, init?: RequestInit & { token?: string; json?: unknown }) => Promise<Response>;
  client: (protocol: "connect" | "connect-json" | "grpc" | "grpc-web", service?: DescService) => AnyClient;
}

/** A client with untyped messages, since the contract is built at run time. */
export type AnyClient = Record<
  string,
  (request: object, options?: object) => Promise<Record<string, unknown>> & AsyncIterable<Record<string, unknown>>
>;

/** Starts a server of the tests' contract on a free port. */
export async function start(options: Partial<ServerOptions> = {}): Promise<Running> {
  const metrics = createMetrics();
  const server = createServer({
    host: "127.0.0.1",
    port: 0,
    services: [registration(EchoService, implementation as never)],
    authenticators: {
      bearer: async (token) => callerOf(token),
      recheck: async (token) => callerOf(token),
      svid: async ({ spiffeId }) => callerOf(spiffeId),
      recheckSvid: async ({ spiffeId }) => callerOf(spiffeId),
      scim: async (token) => callerOf(token),
      appAdmin: async (caller, id) =>
        id !== app ? undefined : caller.isAdmin || caller.scopes !== null ? "admin" : "own",
    },
    idempotency: memoryStore(),
    limiter: countingLimiter(),
    rateLimits: false,
    corsOrigins: ["https://app.test"],
    reflection: true,
    ready: () => true,
    addressOf: (request) => request.socket.remoteAddress ?? "",
    isTrusted: () => false,
    metrics,
    log: silentLog,
    ...options,
  });
  await server.listen();
  const { port } = server.address();
  const url = `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  return {
    port,
    url,
    metrics,
    close: (graceMs = 1_000) => server.close(graceMs),
    fetch: (path, { token, json, ...init } = {}) =>
      fetch(url + path, {
        ...init,
        ...(json === undefined ? {} : { method: init.method ?? "POST", body: JSON.stringify(json) }),
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(json === undefined ? {} : { "content-type": "application/json" }),
          ...(init.headers as Record<string, string> | undefined),
        },
      }),
    client: (protocol, service = EchoService) => createClient(service, transport(protocol, url)),
  };
}

function transport(protocol: string, baseUrl: string): Transport {
  switch (protocol) {
    case "grpc":
      return createGrpcTransport({ baseUrl });
    case "grpc-web":
      return createGrpcWebTransport({ baseUrl, httpVersion: "1.1" });
    default:
      return createConnectTransport({
        baseUrl,
        httpVersion: protocol === "connect" ? "2" : "1.1",
        useBinaryFormat: protocol === "connect",
        useHttpGet: protocol === "connect-json",
      });
  }
}

/** Options of a call with a token and further headers. */
export function as(token: string, headers: Record<string, string> = {}): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${token}`, ...headers } };
}
