import { postApp } from "../baselines/post-app.ts";
import type { Serving } from "../baselines/serve.ts";
import type { Stage } from "../stage.ts";
import type { RatioRow, Side } from "./row.ts";

/** The transcoding library alone against fastify, the same rules on both sides. */
export const transcoding: RatioRow = {
  kind: "ratio",
  name: "transcoding",
  title: "REST transcoding of a small POST, against fastify with JSON schema",
  unit: "req/s",
  target: 1,
  at: "least",
  async sides(stage) {
    const file = stage.requests([postApp]);
    return [
      await side(stage, "src/transcoding", "baselines/transcoded-post.ts", file),
      await side(stage, "fastify", "baselines/fastify-post.ts", file),
    ];
  },
};

async function side(stage: Stage, name: string, script: string, file: string): Promise<Side> {
  const { ready, pid } = await stage.server<Serving>(script);
  const job = { protocol: "http1", port: ready.port, connections: 64, file, status: 201 } as const;
  return { name, measure: (seconds) => stage.load({ ...job, seconds }, pid) };
}
