import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { has, loadCore, pinned } from "../processes.ts";
import type { LoadJob, LoadResult } from "./job.ts";

const run = promisify(execFile);
const script = fileURLToPath(new URL("requests.lua", import.meta.url));

/** Load generators, where they are installed. */
export const tools = { wrk: has("wrk"), h2load: has("h2load") };

/** The program for a job; undefined where our own generator has to do it. */
export function toolFor(job: LoadJob): ((job: LoadJob) => Promise<LoadResult>) | undefined {
  if (job.protocol === "grpc") return tools.h2load ? runH2load : undefined;
  const plain = job.rate === undefined && job.refusal === undefined && job.once !== true && (job.status ?? 200) < 300;
  return tools.wrk && plain ? runWrk : undefined;
}

async function runWrk(job: LoadJob): Promise<LoadResult> {
  // A late response is not a failure: it shows in the latencies.
  const args = [
    "-t1",
    "--timeout",
    "30s",
    `-c${job.connections}`,
    `-d${wholeSeconds(job)}s`,
    "-s",
    script,
    `http://127.0.0.1:${job.port}`,
    "--",
    job.file ?? "",
  ];
  const { stdout } = await run(...pinned(loadCore, "wrk", args));
  const line = /^RESULT (.*)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk gave no result: ${stdout}`);
  const found = JSON.parse(line) as { completed: number; failed: number; micros: number; p50: number; p99: number };
  const seconds = found.micros / 1e6;
  return {
    tool: "wrk",
    completed: found.completed,
    refused: 0,
    failed: found.failed,
    seconds,
    perSecond: found.completed / seconds,
    p50: found.p50 / 1000,
    p99: found.p99 / 1000,
  };
}

/** h2load cannot look at trailers: the caller has seen to it that the call is a good one. */
async function runH2load(job: LoadJob): Promise<LoadResult> {
  const { grpc } = job;
  if (grpc === undefined) throw new Error("a gRPC job needs a call");
  const seconds = wholeSeconds(job);
  const folder = mkdtempSync(join(tmpdir(), "atrium-bench-"));
  try {
    const message = Buffer.from(grpc.message, "base64");
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    const data = join(folder, "message");
    writeFileSync(data, Buffer.concat([prefix, message]));
    const headers = { "content-type": "application/grpc", te: "trailers", ...grpc.metadata[0] };
    const args = [
      `-c${job.connections}`,
      `-m${grpc.streams}`,
      "-t1",
      "-D",
      String(seconds),
      "-d",
      data,
      ...Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]),
      `http://127.0.0.1:${job.port}${grpc.path}`,
    ];
    const { stdout } = await run(...pinned(loadCore, "h2load", args));
    const requests = /^requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed/m.exec(stdout);
    const rate = /^finished in [\d.]+\w+, ([\d.]+) req\/s/m.exec(stdout);
    if (requests === null || rate === null) throw new Error(`h2load gave no result: ${stdout}`);
    return {
      tool: "h2load",
      completed: Number(requests[1]),
      refused: 0,
      failed: Number(requests[2]),
      seconds,
      perSecond: Number(rate[1]),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Neither program accepts a fraction of a second. */
function wholeSeconds(job: LoadJob): number {
  return Math.max(1, Math.round(job.seconds));
}
