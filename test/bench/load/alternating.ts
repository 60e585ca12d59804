/**
 * Two kinds of requests in turn from the load's core, one at a time: asked `{path, status, bodies: [ours, other],
 * seconds}`, reports the median of each kind, milliseconds. Other load of the machine affects both alike.
 */
import { Agent, request } from "node:http";
import { Latencies } from "./latencies.ts";

/** A job. */
export interface AlternatingJob {
  path: string;
  /** Of every answer. */
  status: number;
  bodies: readonly [readonly string[], readonly string[]];
  seconds: number;
}

const port = Number(process.env["PORT"]);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let turn = 0;

function post(path: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: "127.0.0.1",
        port,
        path,
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      },
      (answer) => {
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on("error", reject).end(body);
  });
}

async function run({ path, status, bodies, seconds }: AlternatingJob): Promise<void> {
  const took = [new Latencies(), new Latencies()] as const;
  const end = performance.now() + seconds * 1000;
  try {
    for (; performance.now() < end; turn++) {
      for (const kind of turn % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const began = performance.now();
        const answered = await post(path, bodies[kind][turn % bodies[kind].length] ?? "");
        if (answered !== status) throw new Error(`POST ${path} answered ${answered}`);
        took[kind].add(performance.now() - began);
      }
    }
    process.send?.({ result: took.map((latencies) => latencies.percentiles(0.5)[0] ?? Number.NaN) });
  } catch (cause) {
    process.send?.({ error: cause instanceof Error ? cause.message : String(cause) });
  }
}

process.on("disconnect", () => process.exit(0));
process.on("message", (job: AlternatingJob) => void run(job));
process.send?.({ ready: {} });
