import type { Environment } from "../environment.ts";
import type { RatioRow, Sample, Side } from "./row.ts";

/** A process on the load's core that does the work of a client. */
async function worker(
  environment: Environment,
  script: string,
  env: Readonly<Record<string, string>>,
  name: string,
): Promise<Side> {
  const peer = await environment.peer<object>(`load/${script}`, env);
  return { name, measure: (seconds) => peer.ask<Sample>({ seconds }) };
}

function verification(name: "seen" | "new", title: string, target: number): RatioRow {
  return {
    kind: "ratio",
    name: `verify-${name}`,
    title: `createVerifier offline, ${title}, against bare jose.jwtVerify with a local key`,
    unit: "1/s",
    target,
    at: "least",
    sides: async (environment) => [
      await worker(environment, "verifications.ts", { BY: name }, "createVerifier"),
      await worker(environment, "verifications.ts", { BY: "jose" }, "jose"),
    ],
  };
}

function calls(name: string, title: string, target: number, ours: string, other: string, inFlight: number): RatioRow {
  return {
    kind: "ratio",
    name,
    title,
    unit: "calls/s",
    target,
    at: "least",
    async sides(environment) {
      const { port, tokens } = await environment.service();
      const env = { PORT: String(port), TOKEN: tokens[0] ?? "", IN_FLIGHT: String(inFlight) };
      return [
        await worker(environment, "client-calls.ts", { ...env, BY: ours }, "@atrium/client"),
        await worker(environment, "client-calls.ts", { ...env, BY: other }, other),
      ];
    },
  };
}

/** What the helpers of the TypeScript client cost. */
export const clientRows = [
  verification("seen", "a token seen before", 20),
  verification("new", "a new token", 0.9),
  calls(
    "client-connect",
    "@atrium/client over Connect, against the bare generated client",
    0.95,
    "atrium-connect",
    "bare-connect",
    16,
  ),
  calls(
    "client-grpc",
    "@atrium/client over gRPC at 64 in flight, against @grpc/grpc-js with the same messages",
    1,
    "atrium-grpc",
    "grpc-js",
    64,
  ),
] as const;
