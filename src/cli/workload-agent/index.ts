import { createServer } from "node:http2";
import type { ServerHttp2Session } from "node:http2";
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
      connectNodeAdapter({
        routes: workloadApi(keeper, isOver),
        interceptors: [requireHeader],
        connect: false,
        grpcWeb: false,
      }),
    );
    const sessions = new Set<ServerHttp2Session>();
    server.on("session", (session) => {
      sessions.add(session);
      session.once("close", () => sessions.delete(session)).on("error", () => undefined);
    });
    await listenOn(server, path);
    say(`Serving the SPIFFE Workload API on ${path}`);
    try {
      await keeper.run();
    } finally {
      ended.abort();
      const closed = new Promise((done) => server.close(done));
      for (const session of sessions) session.close();
      setTimeout(() => sessions.forEach((session) => session.destroy()), CLOSE_MS).unref();
      await closed;
      say("Stopped");
    }
    return 0;
  });
}
