import { oversizeCalls, oversizeClients, STREAMS_AFTERWARDS } from "./oversize-calls.ts";
import type { Scenario } from "./scenario.ts";
import { startServers } from "./servers.ts";

const LOGIN = "/atrium.login.v1.LoginService/Login";

/** So many gRPC calls over the limit of messages, on one connection of each client, leave it as good as new. */
export function oversize(calls: number): Scenario {
  return async (log) => {
    const servers = await startServers(["serve"]);
    try {
      const port = Number(new URL(servers.urls[0] ?? "").port);
      const wrong: string[] = [];
      for (const name of oversizeClients) {
        const { codes, streams, connections } = await oversizeCalls(name, port, LOGIN, calls);
        const seen = `${name}: ${JSON.stringify(codes)}, then ${streams} streams, on ${connections} connections`;
        log(seen);
        if (codes["RESOURCE_EXHAUSTED"] !== calls || streams !== STREAMS_AFTERWARDS || connections !== 1)
          wrong.push(seen);
      }
      return wrong;
    } finally {
      await servers.close();
    }
  };
}
