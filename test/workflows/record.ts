import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Client, Connection } from "@temporalio/client";
import { migrations } from "../../src/migrations/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { migrate } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startPaymentServer } from "../../src/app/dev/payments/server.ts";
import { startApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import { startPostgres } from "../support/postgres.ts";
import { startTemporal } from "../support/temporal-process.ts";
import { printHistory } from "./history.ts";
import { paths } from "./paths.ts";
import type { WorkflowPath } from "./paths.ts";

/**
 * Runs every path of every workflow on the whole program and stores the histories for the replay test:
 * `node test/workflows/record.ts [--as <suffix>] [path …]`. Keep the old files of a path when its code changes and
 * record the new history under a name of its own, `<path>.<suffix>.json`: a deployment meets both.
 */
const folder = join(import.meta.dirname, "histories");
const {
  values: { as: suffix },
  positionals: wanted,
} = parseArgs({ options: { as: { type: "string" } }, allowPositionals: true });
const NAMESPACE = "default";

interface Setting {
  /** Of the service, as environment variables. */
  env: Record<string, string>;
  /** Of Temporal's dynamic configuration. */
  temporal?: readonly string[];
}

const settings: Readonly<Record<Exclude<WorkflowPath["setting"], "paying">, Setting>> = {
  patient: { env: { SERVICE_WEBHOOK_SCHEDULE: "0s,200ms,200ms" } },
  hasty: {
    env: {
      SERVICE_WEBHOOK_SCHEDULE: "0s,200ms",
      SERVICE_PROVISION_DEADLINE: "1200ms",
      SERVICE_DEPROVISION_DEADLINE: "1200ms",
      SERVICE_TTL_KEY_OVERLAP: "2s",
    },
  },
  "soon-long": {
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,200ms,200ms,200ms" },
    temporal: ["limit.historyCount.suggestContinueAsNew=15"],
  },
};

const payments = await startPaymentServer({ webhookSecret: "whsec_recorded" });
const paying = {
  SERVICE_STRIPE_SECRET_KEY: "sk_test_key",
  SERVICE_STRIPE_WEBHOOK_SECRET: "whsec_recorded",
  SERVICE_STRIPE_API_BASE: payments.url,
};
const database = await startPostgres();
try {
  await mkdir(folder, { recursive: true });
  await migrate({ url: database.url, migrations, log: silentLog });
  for (const [name, setting] of Object.entries({ ...settings, paying: { env: paying } })) {
    const chosen = Object.entries(paths).filter(
      ([path, { setting: its }]) => its === name && (wanted.length === 0 || wanted.includes(path)),
    );
    if (chosen.length > 0) await record(chosen, setting);
  }
} finally {
  await database.stop();
  await payments.close();
}

async function record(chosen: readonly [string, WorkflowPath][], setting: Setting): Promise<void> {
  const temporal = await startTemporal(setting.temporal);
  const connection = await reach(temporal.address);
  const app = await startApp({
    role: "all",
    databaseUrl: database.url,
    temporal: { address: temporal.address, namespace: NAMESPACE },
    clock: systemClock,
    env: setting.env,
  });
  const market = await openMarket(app);
  const client = new Client({ connection, namespace: NAMESPACE });
  const signal = (workflowId: string, name: string): Promise<void> =>
    client.workflow.getHandle(workflowId).signal(name);
  /** A schedule is stored soon after the start. */
  async function trigger(scheduleId: string): Promise<string> {
    for (const end = Date.now() + 60_000; ; await sleep(200)) {
      try {
        const schedule = client.schedule.getHandle(scheduleId);
        await schedule.trigger();
        const started = (await schedule.describe()).info.recentActions.at(-1)?.action;
        if (started !== undefined) return started.workflow.workflowId;
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  }
  try {
    for (const [name, path] of chosen) {
      const id = await path.walk({ app, market, signal, trigger });
      const runs = await historiesOf(client, id);
      await writeFile(
        join(folder, `${name}${suffix === undefined ? "" : `.${suffix}`}.json`),
        `{"workflowId":${JSON.stringify(id)},"runs":[\n${runs.join(",\n")}\n]}\n`,
      );
      console.log(`${name}: ${runs.length} run${runs.length === 1 ? "" : "s"}`);
    }
  } finally {
    await market.close();
    await app.close();
    await connection.close();
    await temporal.stop();
  }
}

async function reach(address: string): Promise<Connection> {
  for (const end = Date.now() + 120_000; ; await sleep(200)) {
    try {
      return await Connection.connect({ address });
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

/** The histories of every run of a workflow, oldest first, once it has ended. */
async function historiesOf(client: Client, workflowId: string): Promise<string[]> {
  const runs: { runId: string; start: number }[] = [];
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(200)) {
    runs.length = 0;
    let open = 0;
    for await (const { runId, startTime, status } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      runs.push({ runId, start: startTime.getTime() });
      if (status.name === "RUNNING") open++;
    }
    if (runs.length > 0 && open === 0) break;
  }
  runs.sort((a, b) => a.start - b.start);
  return Promise.all(
    runs.map(async ({ runId }) => printHistory(await client.workflow.getHandle(workflowId, runId).fetchHistory())),
  );
}
