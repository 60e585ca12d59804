import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client, credentials, Metadata, status as GrpcStatus } from "@grpc/grpc-js";
import { pythonTools } from "../contract/clients/tools.ts";
import { flakyLink } from "../support/flaky-link.ts";
import { inLanes } from "./scenario.ts";

/** Bytes of a message that the service refuses. */
const MESSAGE_BYTES = 1_200_000;
/** Calls on their way at a time. */
const LANES = 16;
/** Streams opened at once afterwards: a connection may have 128. */
export const STREAMS_AFTERWARDS = 100;
/** Limit of each call: one that is never answered counts under DEADLINE_EXCEEDED. */
const CALL_MS = 120_000;
const WATCH = "/grpc.health.v1.Health/Watch";

/** What a client met. */
export interface Oversize {
  /** How many calls ended with each status. */
  codes: Readonly<Record<string, number>>;
  /** Health watches, all open at once after the calls, that got their first message. */
  streams: number;
  /** Connections that the client opened. */
  connections: number;
}

/** Calls `path` so often with a message over the limit, then opens the streams. */
type Caller = (port: number, path: string, calls: number) => Promise<Omit<Oversize, "connections">>;

const pass = (bytes: Buffer): Buffer => bytes;

const withGrpcJs: Caller = async (port, path, calls) => {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.max_send_message_length": -1,
    "grpc.use_local_subchannel_pool": 1,
  });
  const options = () => ({ deadline: Date.now() + CALL_MS });
  const body = Buffer.alloc(MESSAGE_BYTES, "x");
  const codes: Record<string, number> = {};
  const call = () =>
    new Promise<void>((resolve) => {
      client.makeUnaryRequest(path, pass, pass, body, new Metadata(), options(), (error) => {
        const code = GrpcStatus[error?.code ?? GrpcStatus.OK];
        codes[code] = (codes[code] ?? 0) + 1;
        resolve();
      });
    });
  await inLanes(Array<typeof call>(calls).fill(call), LANES);
  const opened = Array.from({ length: STREAMS_AFTERWARDS }, () =>
    client.makeServerStreamRequest(WATCH, pass, pass, Buffer.alloc(0), new Metadata(), options()),
  );
  const first = opened.map(
    (stream) =>
      new Promise<boolean>((resolve) => {
        stream.once("data", () => resolve(true)).once("error", () => resolve(false));
      }),
  );
  const streams = (await Promise.all(first)).filter(Boolean).length;
  for (const stream of opened) stream.on("error", () => undefined).cancel();
  client.close();
  return { codes, streams };
};

const run = promisify(execFile);

const withGrpcio: Caller = async (port, path, calls) => {
  const script = fileURLToPath(new URL("oversize_calls.py", import.meta.url));
  const settings = [port, path, calls, MESSAGE_BYTES, LANES, STREAMS_AFTERWARDS, CALL_MS / 1_000].map(String);
  const { stdout } = await run(join(pythonTools().found ?? "", "python"), [script, ...settings]);
  return JSON.parse(stdout) as Omit<Oversize, "connections">;
};

const clients = { "@grpc/grpc-js": withGrpcJs, grpcio: withGrpcio };

/** The clients that can be used here, by name: grpcio where there are the tools of the Python client. */
export const oversizeClients = (Object.keys(clients) as (keyof typeof clients)[]).filter(
  (name) => name !== "grpcio" || pythonTools().found !== undefined,
);

/** Lets a client call a service on a port of 127.0.0.1, by way of a proxy that counts its connections. */
export async function oversizeCalls(
  name: keyof typeof clients,
  port: number,
  path: string,
  calls: number,
): Promise<Oversize> {
  const link = await flakyLink({ host: "127.0.0.1", port });
  try {
    return { ...(await clients[name](link.port, path, calls)), connections: link.accepted() };
  } finally {
    await link.close();
  }
}
