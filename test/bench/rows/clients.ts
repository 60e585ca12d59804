import { createAtrium, session } from "../../../src/clients/typescript/index.ts";
import { everyAreaBundle, signInBundle } from "../../clients/bundles.ts";
import type { Bundle } from "../../clients/bundles.ts";
import { countingFetch, expire, openStore } from "../../clients/support.ts";
import type { Environment } from "../environment.ts";
import { installPacked } from "../../clients/packed.ts";
import type { FigureRow, RatioRow, Sample, Side } from "./row.ts";

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

/** Calls of two clients, made by `script`. */
function calls(
  name: string,
  title: string,
  target: number,
  [ours, other]: readonly [string, string],
  inFlight: number,
  script = "client-calls.ts",
): RatioRow {
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
        await worker(environment, script, { ...env, BY: ours }, ours),
        await worker(environment, script, { ...env, BY: other }, other),
      ];
    },
  };
}

function bundle(name: string, title: string, kilobytes: number, make: (folder: string) => Promise<Bundle>): FigureRow {
  return {
    kind: "figure",
    name,
    title,
    unit: "KB",
    target: kilobytes,
    async measure() {
      const installed = installPacked();
      try {
        return (await make(installed.folder)).gzipBytes / 1_024;
      } finally {
        installed.remove();
      }
    },
  };
}

const refreshes: FigureRow = {
  kind: "figure",
  name: "client-refreshes",
  title: "refreshes sent by 50 parallel calls with an expired token",
  unit: "",
  target: 1,
  async measure(environment) {
    const { port, people } = await environment.service();
    const { email = "", password = "", org_name: orgName = "" } = people[0] ?? {};
    const store = openStore();
    const credential = session({ store });
    const network = countingFetch();
    const atrium = createAtrium({ baseUrl: `http://127.0.0.1:${port}`, credential, fetch: network.fetch });
    await credential.signIn(await atrium.login.login({ email, password, orgName }));
    expire(store);
    await Promise.all(Array.from({ length: 50 }, () => atrium.access.getMe({})));
    return network.count("Refresh");
  },
};

/** What the helpers of the clients cost. */
export const clientRows = [
  verification("seen", "a token seen before", 20),
  verification("new", "a new token", 0.9),
  calls(
    "client-connect",
    "@atrium/client over Connect, against the bare generated client",
    0.95,
    ["atrium-connect", "bare-connect"],
    16,
  ),
  calls(
    "client-grpc",
    "@atrium/client over gRPC at 64 in flight, against @grpc/grpc-js with the same messages",
    1,
    ["atrium-grpc", "grpc-js"],
    64,
  ),
  calls(
    "client-python",
    "the Python client with 16 threads, against raw stubs of grpcio",
    0.8,
    ["Atrium", "grpc"],
    16,
    "python-calls.ts",
  ),
  calls(
    "client-python-async",
    "the Python client with 16 calls under way on asyncio, against raw stubs of grpcio",
    0.8,
    ["AsyncAtrium", "grpc.aio"],
    16,
    "python-calls.ts",
  ),
  refreshes,
  bundle("client-bundle-sign-in", "bundle of a page that signs in, gzip", 45, signInBundle),
  bundle("client-bundle-all", "bundle of a page that calls every area, gzip", 95, everyAreaBundle),
] as const;
