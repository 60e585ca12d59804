import { setTimeout as sleep } from "node:timers/promises";
import type { Role } from "../../src/app/app.ts";
import { prepare } from "./workload.ts";
import type { Trouble } from "./client.ts";
import { startServers } from "./servers.ts";
import { drained, verifyAcknowledged } from "./report.ts";
import type { Report } from "./report.ts";

/** Options of a run. */
export interface FaultRunOptions {
  /** Instances of the service, by what they do. */
  roles: readonly Role[];
  installs: number;
  events: number;
  buyers: number;
  /** How long the load lasts at least. */
  spreadMs: number;
  /** Concurrent requests. */
  lanes: number;
  /** How long PostgreSQL and Temporal stay away. */
  postgresAwayMs: number;
  temporalAwayMs: number;
  /** Pause between two faults; they repeat while the load lasts, each at least once. */
  pauseMs: number;
  /** Most times each fault happens; unlimited when absent. */
  rounds?: number;
  /** Longest time for the load, however many faults there are; unlimited when absent. */
  limitMs?: number;
  /** Longest wait for everything to settle after the last fault. */
  settleTimeoutMs: number;
  log(line: string): void;
}

/** The outcome of a run. */
export interface FaultRunResult extends Report {
  faults: string[];
  trouble: Trouble;
  /** Duration of the load and then of the remaining work, milliseconds. */
  loadMs: number;
  drainMs: number;
  /** Work unfinished at the time limit; empty is right. */
  left: string;
  /** Longest time until ready after the database was back. */
  readyMs: number;
}

/** Puts load on real processes that are killed and stopped meanwhile, then checks the outcome. */
export async function runFaults(options: FaultRunOptions): Promise<FaultRunResult> {
  const { log } = options;
  const servers = await startServers(options.roles);
  try {
    const workload = await prepare(servers, options.buyers, Math.ceil(options.installs / options.buyers));
    const faults: string[] = [];
    let loading = true;
    let readyMs = 0;
    const killed = (role: Role) => async (): Promise<string> =>
      `${role} killed, going again after ${await servers.kill(role)} ms`;
    const temporalAway = async (): Promise<string> => {
      await servers.endTemporal();
      await sleep(options.temporalAwayMs);
      servers.startTemporal();
      return `Temporal killed, away ${options.temporalAwayMs} ms`;
    };
    const round: readonly (() => Promise<string>)[] = [
      ...[...new Set(options.roles)].map(killed),
      temporalAway,
      async () => {
        const ms = await servers.stopPostgres(options.postgresAwayMs);
        readyMs = Math.max(readyMs, ms);
        return `PostgreSQL stopped for ${options.postgresAwayMs} ms, ready ${ms} ms after it was back`;
      },
    ];
    const since = Date.now();
    const limit = new AbortController();
    const { limitMs, rounds = Infinity } = options;
    const late = (ms: number) =>
      sleep(ms, undefined, { signal: limit.signal }).then(() =>
        Promise.reject(new Error(`the load took longer than ${ms} ms`)),
      );
    const load = workload.load(options.installs, options.events, options.lanes, options.spreadMs);
    const loaded = (limitMs === undefined ? load : Promise.race([load, late(limitMs)])).finally(() => {
      loading = false;
      limit.abort();
    });
    loaded.catch(() => undefined);
    for (let nth = 0; nth < round.length || (loading && nth < round.length * rounds); nth++) {
      await sleep(options.pauseMs);
      const line = (await round[nth % round.length]?.()) ?? "";
      faults.push(line);
      log(`${((Date.now() - since) / 1000).toFixed(1)} s: ${line}`);
    }
    const acknowledged = await loaded;
    const loadMs = Date.now() - since;
    log(
      `${acknowledged.installs.length} installs and ${acknowledged.deliveries.length} test events ` +
        `acknowledged in ${(loadMs / 1000).toFixed(1)} s`,
    );
    const { ms: drainMs, left } = await drained(servers, options.settleTimeoutMs, log);
    log(`settled ${(drainMs / 1000).toFixed(1)} s later${left === "" ? "" : `, but for ${left}`}`);
    const report = await verifyAcknowledged(servers, workload, acknowledged);
    await workload.close();
    return { ...report, faults, trouble: workload.client.trouble, loadMs, drainMs, left, readyMs };
  } finally {
    await servers.close();
  }
}
