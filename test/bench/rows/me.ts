import { fromJsonString, toBinary } from "@bufbuild/protobuf";
import { GetMeResponseSchema } from "../../../gen/atrium/access/v1/access_pb.ts";
import type { Serving } from "../baselines/serve.ts";
import type { GrpcCall, LoadJob } from "../load/job.ts";
import type { Helper } from "../processes.ts";
import type { Environment } from "../environment.ts";
import type { RatioRow, Side } from "./row.ts";

// Enough that neither side waits for the load: our answers leave in batches, one for each turn of the database.
const connections = 192;
const rest = "/api/auth/me";
const procedure = "/atrium.access.v1.AccessService/GetMe";
const json = { "content-type": "application/json" };

/** Our side: `GET /api/auth/me` from as many sessions as there are connections. */
export async function meOverRest(environment: Environment): Promise<Side> {
  const { port, pid, tokens } = await environment.service();
  const file = environment.requests(tokens.map((token) => ({ method: "GET", path: rest, headers: bearer(token) })));
  return side(environment, "Atrium, REST", { protocol: "http1", port, connections, file }, pid);
}

async function bareHttp(environment: Environment): Promise<Side> {
  const { me, tokens } = await environment.service();
  const { ready, pid } = await environment.server<Serving>("baselines/bare-http.ts", { ANSWER: me });
  const file = environment.requests(tokens.map((token) => ({ method: "GET", path: rest, headers: bearer(token) })));
  return side(environment, "bare node:http", { protocol: "http1", port: ready.port, connections, file }, pid);
}

/** `GET /api/auth/me` against a bare server that answers the same bytes. */
export const meAgainstBare: RatioRow = {
  kind: "ratio",
  name: "me-rest",
  title: "GET /api/auth/me over REST, against bare node:http",
  unit: "req/s",
  target: 0.6,
  at: "least",
  sides: async (environment) => [await meOverRest(environment), await bareHttp(environment)],
};

/** The same against jose and an ORM behind Connect. */
export const meAgainstPlain: RatioRow = {
  kind: "ratio",
  name: "me-plain",
  title: "the same, against jose + one ORM read behind Connect JSON",
  unit: "req/s",
  target: 6,
  at: "least",
  async sides(environment) {
    const { me } = await environment.service();
    const { ready, pid } = await environment.server<Serving & { tokens: string[] }>("baselines/plain-way.ts", {
      ANSWER: me,
      DATABASE: await environment.baselineDatabase(),
    });
    const file = environment.requests(
      ready.tokens.map((token) => ({
        method: "POST",
        path: procedure,
        headers: { ...json, ...bearer(token) },
        body: "{}",
      })),
    );
    return [
      await meOverRest(environment),
      side(environment, "the plain way", { protocol: "http1", port: ready.port, connections, file }, pid),
    ];
  },
};

/** Over Connect JSON against a handler that does nothing. */
export const meOverConnect: RatioRow = {
  kind: "ratio",
  name: "me-connect",
  title: "the same over Connect JSON, against an empty connect-node handler",
  unit: "req/s",
  target: 1.2,
  at: "least",
  async sides(environment) {
    const { port, pid, tokens, me } = await environment.service();
    const empty = await environment.server<Serving>("baselines/empty-connect.ts", { ANSWER: me, PROTOCOL: "http1" });
    const file = environment.requests(
      tokens.map((token) => ({ method: "POST", path: procedure, headers: { ...json, ...bearer(token) }, body: "{}" })),
    );
    const job = { protocol: "http1", connections, file } as const;
    return [
      side(environment, "Atrium, Connect", { ...job, port }, pid),
      side(environment, "empty handler", { ...job, port: empty.ready.port }, empty.pid),
    ];
  },
};

/** Ours over gRPC. */
async function meOverGrpcSide(
  environment: Environment,
): Promise<{ ours: Side; job: Omit<LoadJob, "port" | "seconds"> }> {
  const { port, pid, tokens, me } = await environment.service();
  // Tokens of one person: their responses have one length, by which the generator recognizes good ones.
  const own = tokens.filter((_, i) => i % 16 === 0);
  const grpc: GrpcCall = {
    path: procedure,
    metadata: own.map(bearer),
    message: "",
    answerBytes: answerBytes(me),
    streams: 16,
  };
  const job = { protocol: "grpc", connections: 4, grpc } as const;
  return { ours: side(environment, "Atrium, gRPC", { ...job, port }, pid), job };
}

/** Over gRPC against a handler that does nothing. */
export const meOverGrpc: RatioRow = {
  kind: "ratio",
  name: "me-grpc",
  title: "the same over gRPC, against an empty connect-node handler",
  unit: "req/s",
  target: 1,
  at: "least",
  async sides(environment) {
    const { me } = await environment.service();
    const empty = await environment.server<Serving>("baselines/empty-connect.ts", { ANSWER: me, PROTOCOL: "h2c" });
    const { ours, job } = await meOverGrpcSide(environment);
    return [ours, side(environment, "empty handler", { ...job, port: empty.ready.port }, empty.pid)];
  },
};

/** Over gRPC against the reference implementation of gRPC for Node with a handler that does nothing. */
export const meAgainstGrpcJs: RatioRow = {
  kind: "ratio",
  name: "me-grpc-js",
  title: "the same over gRPC, against @grpc/grpc-js serving the same message",
  unit: "req/s",
  target: 1.5,
  at: "least",
  async sides(environment) {
    const { me } = await environment.service();
    const empty = await environment.server<Serving>("baselines/grpc-js.ts", { ANSWER: me });
    const { ours, job } = await meOverGrpcSide(environment);
    return [ours, side(environment, "@grpc/grpc-js", { ...job, port: empty.ready.port }, empty.pid)];
  },
};

/** New tokens: their signatures have to be verified. */
export const newTokens: RatioRow = {
  kind: "ratio",
  name: "new-tokens",
  title: "/me with tokens never seen before, against bare node:crypto Ed25519 verifications",
  unit: "req/s",
  target: 0.65,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const ours: Side = {
      name: "Atrium, new tokens",
      async measure(seconds) {
        const tokens = await service.fresh(Math.ceil(seconds * 15_000));
        const file = environment.requests(
          tokens.map((token) => ({ method: "GET", path: rest, headers: bearer(token) })),
        );
        const job = { protocol: "http1", port: service.port, connections, file, once: true, seconds } as const;
        return environment.load(job, service.pid);
      },
    };
    const bare = await environment.server<object>("baselines/ed25519-verifies.ts", { TOKEN: service.tokens[0] ?? "" });
    return [ours, verifications(bare)];
  },
};

function verifications(bare: Helper<object>): Side {
  return {
    name: "bare verifications",
    async measure(seconds) {
      const { perSecond } = await bare.ask<{ perSecond: number }>({ seconds });
      return { value: perSecond };
    },
  };
}

/** p99 of `/me` at half of what the service can do, against a bare server at the same absolute rate. */
export const meAtHalf: RatioRow = {
  kind: "ratio",
  name: "me-half",
  title: "p99 of /me at half saturation, against bare node:http at the same rate",
  unit: "ms",
  target: 2,
  at: "most",
  async sides(environment) {
    const { port, pid, tokens, me } = await environment.service();
    const { ready, pid: barePid } = await environment.server<Serving>("baselines/bare-http.ts", { ANSWER: me });
    const file = environment.requests(tokens.map((token) => ({ method: "GET", path: rest, headers: bearer(token) })));
    const full = await environment.load({ protocol: "http1", port, connections, file, seconds: 3 }, pid);
    const rate = Math.round(full.value / 2);
    environment.log(`  half of the saturated service: ${rate} requests a second`);
    const p99 = (name: string, at: number, server: number): Side => ({
      name,
      async measure(seconds) {
        const job = { protocol: "http1", port: at, connections: 64, file, rate, seconds } as const;
        const sample = await environment.load(job, server);
        return { ...sample, value: sample.p99 ?? Number.NaN };
      },
    });
    return [p99("Atrium", port, pid), p99("bare node:http", ready.port, barePid)];
  },
};

function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

function side(environment: Environment, name: string, job: Omit<LoadJob, "seconds">, pid: number): Side {
  return { name, measure: (seconds) => environment.load({ ...job, seconds }, pid) };
}

/** Length of the gRPC response with the content of this JSON. */
function answerBytes(me: string): number {
  return toBinary(GetMeResponseSchema, fromJsonString(GetMeResponseSchema, me)).length + 5;
}
