import { createServer } from "node:http2";
import type { Http2Server, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { resolve } from "node:path";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { readCertificates, readToken } from "../files.ts";
import { CommandError, runCommand } from "../output.ts";
import type { Terminal } from "../output.ts";
import { createKeeper } from "./keeper.ts";
import type { Clocks } from "./life.ts";
import { listenOn } from "./socket.ts";
import { requireHeader, workloadApi } from "./workload-api.ts";

/** Options of the workload agent. */
export interface WorkloadAgentOptions {
  /** URL of the service's listener of mutual TLS. */
  server: string;
  /** File of the certificates that the service's certificate is verified by, PEM. */
  caFile: string;
  /** Path of the Unix socket. */
  socket: string;
  /** File of an automation token. */
  tokenFile: string;
}

/** How the agent reads the time, and how often it looks at the service. */
export interface Pace extends Clocks {
  pollMs: number;
}

const PACE: Pace = { now: Date.now, elapsed: () => performance.now(), pollMs: 5_000 };
/** Time in which streams end at a stop. */
const CLOSE_MS = 1_000;
/** Limits of a client connection: a workload has few streams, and its largest message is a JWT-SVID to validate. */
const MAX_STREAMS = 100;
const MAX_MESSAGE_BYTES = 256 * 1_024;

/** Serves the SPIFFE Workload API on a Unix socket until the signal. @returns the exit code */
export function runWorkloadAgent(
  options: WorkloadAgentOptions,
  terminal: Terminal,
  stop: AbortSignal,
  pace: Partial<Pace> = {},
): Promise<number> {
  return runCommand(terminal, async () => {
    const { folders, say } = terminal;
    if (URL.parse(options.server)?.protocol !== "https:")
      throw new CommandError(
        `--server must be an https URL of the service's mutual TLS listener, not ${options.server}.`,
      );
    const ca = await readCertificates(options.caFile, folders);
    const readIt = (): Promise<string> => readToken(options.tokenFile, folders);
    await readIt();
    const keeper = createKeeper({ ...PACE, ...pace, server: options.server, ca, readToken: readIt, say, stop });
    const path = resolve(folders[1] ?? folders[0] ?? ".", options.socket);

    const ended = new AbortController();
    const isOver = AbortSignal.any([stop, ended.signal]);
    const server = createServer(
      { settings: { maxConcurrentStreams: MAX_STREAMS } },
      connectNodeAdapter({
        routes: workloadApi(keeper, isOver),
        interceptors: [requireHeader],
        connect: false,
        grpcWeb: false,
        readMaxBytes: MAX_MESSAGE_BYTES,
      }),
    );
    const close = closeable(server);
    const removeSocket = await listenOn(server, path);
    say(`Serving the SPIFFE Workload API on ${path}`);
    try {
      await keeper.run();
    } finally {
      ended.abort();
      removeSocket();
      await close();
      say("Stopped");
    }
    return 0;
  });
}

/**
 * Prepares the end of a server: streams have time to end, then connections are cut. A session that is closing waits for
 * its client without limit, even when it is destroyed, so sockets are.
 */
function closeable(server: Http2Server): () => Promise<void> {
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session)).on("error", () => undefined);
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return async () => {
    const closed = new Promise((done) => server.close(done));
    for (const session of sessions) session.close();
    const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), CLOSE_MS);
    await closed;
    clearTimeout(timer);
  };
}
