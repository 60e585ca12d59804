import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeRequests } from "./load/requests.ts";
import type { RequestSpec } from "./load/requests.ts";
import { startLoad } from "./load/load.ts";
import type { Load } from "./load/load.ts";
import { bothCores, cpuSeconds, loadCore, serverCore, startHelper } from "./processes.ts";
import type { Cores, Helper } from "./processes.ts";
import type { LoadJob } from "./load/job.ts";
import type { Sample } from "./rows/row.ts";
import { startService } from "./service.ts";
import { STATEMENTS_FOLDER, writeStatements } from "./statements.ts";
import type { Service, ServiceSettings } from "./service.ts";
import { migrations } from "../../src/migrations/index.ts";
import { migrate } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { databaseUrl, runSql } from "../support/postgres.ts";

/** The environment of rows: the service, its database, helpers, load. */
export interface Environment {
  /** The service under test with people signed in; started when it is first asked for. */
  service(): Promise<Service>;
  /** Another service with a database of its own under this name; it ends with the row. */
  serviceOn(database: string, settings: Omit<ServiceSettings, "databaseUrl" | "folder">): Promise<Service>;
  /** The same for several rows: one service per name, until the end of the bench. */
  keptService(database: string, settings: Omit<ServiceSettings, "databaseUrl" | "folder">): Promise<Service>;
  /** Prints a line about the preparation. */
  log(line: string): void;
  /** Address of an embedded Temporal server on the load's core, kept to the end. */
  temporal(): Promise<{ address: string; namespace: string }>;
  /** Address of a database of its own on the same server as the service's, for a baseline. */
  baselineDatabase(): Promise<string>;
  /** A database with the service's schema that no service uses, for baselines that insert the service's rows. */
  schemaDatabase(): Promise<string>;
  /** Starts a server of this folder on the server's core; it ends with the row. */
  server<Ready extends object>(script: string, env?: Record<string, string>): Promise<Helper<Ready>>;
  /** The same on the load's core: a peer of the service. */
  peer<Ready extends object>(script: string, env?: Record<string, string>): Promise<Helper<Ready>>;
  /** A service and a database of its own that compete with their load for the same two cores; they end with the row. */
  serviceAmongLoad(): Promise<Service>;
  /** A second generator beside the first, for a load in the background; on the load's core by default. */
  background(cores?: Cores): Promise<Load>;
  /** Writes requests for the generators. */
  requests(specs: readonly RequestSpec[]): string;
  /** A free folder for a row. */
  folder(name: string): string;
  /** Makes load and resolves to what the server with this process id reached. */
  load(job: LoadJob, serverPid: number): Promise<Sample>;
  /** Ends what the row started. With the name of the row, writes what its statements cost where that is asked for. */
  endRow(name?: string): Promise<void>;
  stop(): Promise<void>;
}

interface Postgres {
  url: string;
  baselineUrl: string;
}

/** Creates the environment; `tools` allows wrk and h2load. */
export async function createEnvironment(options: {
  tools: boolean;
  log: (line: string) => void;
}): Promise<Environment> {
  const root = mkdtempSync(join(tmpdir(), "atrium-bench-"));
  chmodSync(root, 0o755); // PostgreSQL may run as another user
  const databaseFolder = join(root, "database");
  mkdirSync(databaseFolder);
  const load = await startLoad(options);
  let files = 0;
  let postgres: Promise<Helper<Postgres>> | undefined;
  let service: Promise<Service> | undefined;
  let schema: Promise<string> | undefined;
  let temporal: Promise<Helper<{ address: string; namespace: string }>> | undefined;
  const kept = new Map<string, Promise<Service>>();
  const databases = new Map<string, Promise<string>>();
  const ofRow: { stop(): Promise<void> }[] = [];

  const database = (): Promise<Helper<Postgres>> =>
    (postgres ??= startHelper<Postgres>(loadCore, "postgres-process.ts", { FOLDER: databaseFolder }));
  const makeDatabase = async (name: string): Promise<string> => {
    const { url } = (await database()).ready;
    await runSql(url, `create database ${name}`);
    return databaseUrl(url, name);
  };
  const makeSchema = async (): Promise<string> => {
    const url = await makeDatabase("bench_schema");
    await migrate({ url, migrations, log: silentLog });
    return url;
  };
  const startOn = async (name: string, settings: Omit<ServiceSettings, "databaseUrl" | "folder">): Promise<Service> => {
    const made = databases.get(name) ?? makeDatabase(name);
    databases.set(name, made);
    return startService({ ...settings, databaseUrl: await made, folder: join(root, name) });
  };
  const helper = async <Ready extends object>(
    core: number,
    script: string,
    env?: Record<string, string>,
  ): Promise<Helper<Ready>> => {
    const started = await startHelper<Ready>(core, script, env);
    ofRow.push(started);
    return started;
  };
  const runLoad = async (job: LoadJob, serverPid: number): Promise<Sample> => {
    const before = cpuSeconds(serverPid);
    const began = performance.now();
    const { perSecond, completed, tool, p50, p99, cpu } = await load.run(job);
    const took = (performance.now() - began) / 1000;
    const after = cpuSeconds(serverPid);
    const sample: Sample = {
      value: perSecond,
      tool,
      ...(p50 === undefined ? {} : { p50 }),
      ...(p99 === undefined ? {} : { p99 }),
      ...(cpu === undefined ? {} : { loadCpu: cpu }),
    };
    if (before === undefined || after === undefined || after === before) return sample;
    return { ...sample, serverCpu: (after - before) / took, perCpuSecond: completed / (after - before) };
  };

  return {
    service: () =>
      (service ??= database().then(({ ready }) => {
        options.log("starting the service and signing people in");
        return startService({ databaseUrl: ready.url, folder: join(root, "service") });
      })),
    baselineDatabase: async () => (await database()).ready.baselineUrl,
    schemaDatabase: () => (schema ??= makeSchema()),
    async serviceOn(name, settings) {
      const started = await startOn(name, settings);
      ofRow.push(started);
      return started;
    },
    keptService(name, settings) {
      const started = kept.get(name) ?? startOn(name, settings);
      kept.set(name, started);
      return started;
    },
    log: options.log,
    temporal: async () =>
      (await (temporal ??= startHelper(loadCore, "temporal-process.ts", { FOLDER: join(root, "temporal") }))).ready,
    server: (script, env) => helper(serverCore, script, env),
    peer: (script, env) => helper(loadCore, script, env),
    async serviceAmongLoad() {
      const folder = join(root, `database-${++files}`);
      mkdirSync(folder);
      const own = await startHelper<Postgres>(bothCores, "postgres-process.ts", { FOLDER: folder });
      ofRow.push(own);
      const started = await startService({
        databaseUrl: own.ready.url,
        folder: join(root, `service-${files}`),
        cores: bothCores,
      });
      ofRow.push(started);
      return started;
    },
    async background(cores = loadCore) {
      const second = await startLoad({ tools: false, cores });
      ofRow.push(second);
      return second;
    },
    requests: (specs) => writeRequests(join(root, `requests-${++files}`), specs),
    folder: (name) => join(root, name),
    load: runLoad,
    async endRow(name) {
      // The latest first: services before those they talk to.
      for (const one of ofRow.splice(0).reverse()) await one.stop();
      const folder = STATEMENTS_FOLDER;
      if (folder === undefined || postgres === undefined || name === undefined) return;
      await postgres
        .then(({ ready }) => writeStatements(folder, ready.url, name))
        .catch((error: unknown) => options.log(`  the statements were not written: ${String(error)}`));
    },
    async stop() {
      await load.stop();
      for (const one of kept.values())
        await one.then(
          (started) => started.stop(),
          () => undefined,
        );
      await service?.then(
        (started) => started.stop(),
        () => undefined,
      );
      await temporal?.then(
        (started) => started.stop(),
        () => undefined,
      );
      await postgres?.then(
        (started) => started.stop(),
        () => undefined,
      );
      rmSync(root, { recursive: true, force: true });
    },
  };
}
