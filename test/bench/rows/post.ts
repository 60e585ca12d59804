import { postApp } from "../baselines/post-app.ts";
import type { Serving } from "../baselines/serve.ts";
import type { Environment } from "../environment.ts";
import type { RatioRow, Side } from "./row.ts";

/** The transcoding library alone against fastify, the same rules on both sides. */
export const transcoding: RatioRow = {
  kind: "ratio",
  name: "transcoding",
  title: "REST transcoding of a small POST, against fastify with JSON schema",
  unit: "req/s",
  target: 1,
  at: "least",
  async sides(environment) {
    const file = environment.requests([postApp]);
    return [
      await side(environment, "src/transcoding", "baselines/transcoded-post.ts", file),
      await side(environment, "fastify", "baselines/fastify-post.ts", file),
    ];
  },
};

async function side(environment: Environment, name: string, script: string, file: string): Promise<Side> {
  const { ready, pid } = await environment.server<Serving>(script);
  const job = { protocol: "http1", port: ready.port, connections: 64, file, status: 201 } as const;
  return { name, measure: (seconds) => environment.load({ ...job, seconds }, pid) };
}
