import type { Service } from "../service.ts";
import type { Environment } from "../environment.ts";
import type { Side } from "./row.ts";

/** The p50 of reading `path`, one request after another, with each of `tokens` in turn. In milliseconds. */
export function p50Side(
  environment: Environment,
  name: string,
  service: Pick<Service, "port" | "pid">,
  path: string,
  tokens: readonly string[],
): Side {
  const file = environment.requests(
    tokens.map((token) => ({ method: "GET", path, headers: { authorization: `Bearer ${token}` } })),
  );
  return {
    name,
    async measure(seconds) {
      const sample = await environment.load(
        { protocol: "http1", port: service.port, connections: 1, file, seconds, tools: false },
        service.pid,
      );
      return { ...sample, value: sample.p50 ?? Number.NaN };
    },
  };
}
