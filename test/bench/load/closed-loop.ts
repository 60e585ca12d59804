import { Http1Connection } from "./http1.ts";
import type { LoadJob, LoadResult } from "./job.ts";
import { Latencies } from "./latencies.ts";
import { readRequests } from "./requests.ts";

/** Counts responses, in the form of a result. */
export type Counts = Omit<LoadResult, "tool" | "perSecond">;

/**
 * HTTP/1.1: each connection sends its next request when the last is answered,
 * or, with `rate`, requests go out on time on whatever connection is free and
 * a latency counts from when the request was due.
 */
export function runHttp1(job: LoadJob): Promise<Counts> {
  const requests = readRequests(job.file ?? "");
  const latencies = new Latencies();
  const counts = { completed: 0, refused: 0, failed: 0 };
  const statuses = new Set<number>();
  let next = 0;
  let over = false;
  const due: number[] = [];
  const free: Http1Connection[] = [];

  const upcoming = (): Buffer | undefined => {
    if (next === requests.length && job.once === true) return undefined;
    return requests[next++ % requests.length];
  };

  return new Promise((resolve) => {
    const open = new Set<Http1Connection>();
    const started = performance.now();
    const finish = (): void => {
      if (over) return;
      over = true;
      clearInterval(ticker);
      clearTimeout(end);
      const seconds = (performance.now() - started) / 1000;
      for (const connection of open) connection.close();
      const [p50 = 0, p99 = 0] = latencies.percentiles(0.5, 0.99);
      resolve({ ...counts, statuses: [...statuses], seconds, p50, p99 });
    };
    const send = (connection: Http1Connection, at: number): void => {
      const request = upcoming();
      if (request === undefined) finish();
      else connection.send(request, at);
    };
    const answered = (status: number, at: number, connection: Http1Connection): void => {
      if (over) return;
      const now = performance.now();
      if (status === (job.status ?? 200)) {
        counts.completed++;
        latencies.add(now - at);
      } else if (status === job.refusal) counts.refused++;
      else {
        counts.failed++;
        statuses.add(status);
      }
      if (job.rate === undefined) send(connection, now);
      else if (due.length > 0) send(connection, due.shift() as number);
      else free.push(connection);
    };
    const broken = (connection: Http1Connection): void => {
      open.delete(connection);
      if (over) return;
      counts.failed++;
      if (open.size === 0) finish();
    };
    for (let i = 0; i < job.connections; i++) {
      const connection = new Http1Connection(job.port, answered, broken);
      open.add(connection);
      if (job.rate === undefined) send(connection, started);
      else free.push(connection);
    }
    let sent = 0;
    const tick = (): void => {
      const now = performance.now();
      const upTo = Math.floor(((now - started) / 1000) * (job.rate ?? 0));
      for (; sent < upTo; sent++) {
        const at = started + (sent / (job.rate ?? 1)) * 1000;
        const connection = free.pop();
        if (connection === undefined) due.push(at);
        else send(connection, at);
      }
    };
    const ticker = job.rate === undefined ? undefined : setInterval(tick, 1);
    const end = setTimeout(finish, job.seconds * 1000);
  });
}
