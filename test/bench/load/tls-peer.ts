/** Clients of TLS, with or without a certificate: runs jobs sent over IPC, one at a time, and returns the results. */
import { Latencies } from "./latencies.ts";
import { openTls, TlsH2Connection } from "./tls-h2.ts";
import type { TlsGet, TlsTarget } from "./tls-h2.ts";

/** A job, by what it does. */
export type TlsJob =
  /** Requests on open connections, each keeping `streams` of them in flight. */
  | { run: "requests"; targets: TlsTarget[]; get: TlsGet; connections: number; streams: number; seconds: number }
  /** Full handshakes, `concurrency` at a time, for `seconds` or until there were `count`. */
  | { run: "handshakes"; targets: readonly TlsTarget[]; concurrency: number; seconds: number; count?: number }
  /** Opens connections, sends one request on each, and keeps them. */
  | { run: "hold"; targets: TlsTarget[]; get: TlsGet; connections: number }
  /** Closes what is held. */
  | { run: "release" };

/** What a job did. */
export interface TlsResult {
  completed: number;
  failed: number;
  seconds: number;
  p50?: number;
  p99?: number;
}

const held: TlsH2Connection[] = [];
const at = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

process.on("disconnect", () => process.exit(0));
process.on("message", (job: TlsJob) => {
  perform(job).then(
    (result) => process.send?.({ result }),
    (cause: unknown) => process.send?.({ error: String(cause) }),
  );
});
process.send?.({ ready: {} });

async function perform(job: TlsJob): Promise<TlsResult> {
  if (job.run === "requests") return requests(job);
  if (job.run === "handshakes") return handshakes(job);
  if (job.run === "hold") return hold(job);
  for (const one of held.splice(0)) one.close();
  return { completed: 0, failed: 0, seconds: 0 };
}

function requests(job: Extract<TlsJob, { run: "requests" }>): Promise<TlsResult> {
  const latencies = new Latencies();
  const counts = { completed: 0, failed: 0 };
  let over = false;
  return new Promise((resolve) => {
    const started = performance.now();
    const open = Array.from({ length: job.connections }, (_, i) => {
      const connection: TlsH2Connection = new TlsH2Connection(
        at(job.targets, i),
        job.get,
        (good, since) => {
          if (over) return;
          if (good) latencies.add(performance.now() - since);
          counts[good ? "completed" : "failed"]++;
          connection.start();
        },
        () => void (over || counts.failed++),
      );
      for (let stream = 0; stream < job.streams; stream++) connection.start();
      connection.flush();
      return connection;
    });
    setTimeout(() => {
      over = true;
      const seconds = (performance.now() - started) / 1000;
      for (const connection of open) connection.close();
      const [p50 = 0, p99 = 0] = latencies.percentiles(0.5, 0.99);
      resolve({ ...counts, seconds, p50, p99 });
    }, job.seconds * 1000);
  });
}

function handshakes(job: Extract<TlsJob, { run: "handshakes" }>): Promise<TlsResult> {
  const counts = { completed: 0, failed: 0 };
  let begun = 0;
  const started = performance.now();
  const end = started + job.seconds * 1000;
  const client = async (): Promise<void> => {
    while (performance.now() < end && begun < (job.count ?? Number.POSITIVE_INFINITY)) {
      begun++;
      const done = await handshake(at(job.targets, counts.completed + counts.failed));
      counts[done ? "completed" : "failed"]++;
    }
  };
  return Promise.all(Array.from({ length: job.concurrency }, client)).then(() => ({
    ...counts,
    seconds: (performance.now() - started) / 1000,
  }));
}

/** One handshake; over when the server, which has then verified its side, has closed too. */
function handshake(target: TlsTarget): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = openTls(target, "http/1.1");
    let secure = false;
    socket.on("secureConnect", () => {
      secure = true;
      socket.end();
    });
    socket.on("error", () => undefined);
    socket.on("close", (failed) => resolve(secure && !failed));
    socket.resume();
  });
}

async function hold(job: Extract<TlsJob, { run: "hold" }>): Promise<TlsResult> {
  const counts = { completed: 0, failed: 0 };
  const started = performance.now();
  // Few at a time: the server's backlog is limited, and a handshake under way takes more memory than a connection.
  for (let from = 0; from < job.connections; from += 50) {
    await Promise.all(
      Array.from({ length: Math.min(50, job.connections - from) }, (_, i) => {
        return new Promise<void>((resolve) => {
          const connection = new TlsH2Connection(
            at(job.targets, from + i),
            job.get,
            (good) => {
              counts[good ? "completed" : "failed"]++;
              resolve();
            },
            () => {
              counts.failed++;
              resolve();
            },
          );
          connection.start();
          connection.flush();
          held.push(connection);
        });
      }),
    );
  }
  return { ...counts, seconds: (performance.now() - started) / 1000 };
}
