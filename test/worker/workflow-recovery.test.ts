import { Client } from "@temporalio/client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createTemporalClient } from "../../src/platform/temporal/client.ts";
import { lazyConnection } from "../../src/platform/temporal/connection.ts";
import { createWorkflowRecovery } from "../../src/worker/workflow-recovery.ts";
import { callRest, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { elevate } from "../support/elevate.ts";
import { openMarket } from "../support/market.ts";
import { pollerDeps } from "../support/pollers.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "../webhooks/receiver.ts";

let database: TestDatabase;
const running: { close(): Promise<unknown> }[] = [];
beforeAll(async () => void (database = await testDatabase()));
afterAll(async () => {
  for (const one of running.reverse()) await one.close();
  await database.close();
});

async function start(temporal: Awaited<ReturnType<typeof temporalServer>>, schedule: string): Promise<TestApp> {
  return startApp({
    role: "all",
    databaseUrl: database.url,
    temporal,
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: schedule },
  });
}

it("installs, retries and key overlaps continue after Temporal has lost their workflows", async () => {
  const first = await start(await temporalServer(), "0s,10m,10m");
  const market = await openMarket(first);
  let answering = false;
  const offer = await market.offer(() => ({ status: answering ? 200 : 500 }));
  const receiver = await startReceiver(() => (answering ? 204 : 500));
  running.push(market, receiver);
  const installId = (await offer.install()).body.install_id as string;
  await expect
    .poll(async () => (await market.read(installId)).timeline.map(({ event }) => event))
    .toContain("attempt_failed");
  const hook = await first.call("POST", "/api/v2/webhooks", {
    token: market.buyer,
    body: { url: receiver.url, events: ["user.created"] },
  });
  await first.call("POST", `/api/v2/webhooks/${hook.body.webhook_id}/test`, { token: market.buyer });
  const retries = () =>
    runSql(database.url, "select 1 from webhook_deliveries where queue = 'retry' and status = 'pending'");
  await expect.poll(retries).toHaveLength(1);
  const org = (await first.call("GET", "/api/auth/me", { token: market.buyer })).body.org_uuid as string;
  const rotation = await first.call("POST", `/api/admin/organizations/${org}/signing-keys/rotate`, {
    token: await elevate(first, market.buyer),
  });
  expect(rotation.status).toBe(200);
  await first.close();

  answering = true;
  await runSql(database.url, "update installs set step_since = step_since - interval '2 minutes'");
  await runSql(database.url, "update webhook_deliveries set next_attempt_at = now() where status = 'pending'");
  const elsewhere = await temporalServer();
  const second = await start(elsewhere, "0s,100ms");
  running.push(second);
  const read = async () =>
    (await callRest(second.url, "GET", `/api/installs/${installId}`, { token: market.buyer })).body.status as string;
  await expect.poll(read).toBe("active");
  await receiver.waitFor(2);
  const connection = lazyConnection(elsewhere);
  const { workflow } = new Client({ connection, namespace: elsewhere.namespace });
  running.push(connection);
  const state = async () =>
    (
      await workflow
        .getHandle(`key-rotation/${rotation.body.previous_key_id}`)
        .describe()
        .catch(() => undefined)
    )?.status.name;
  await expect.poll(state).toBe("RUNNING");

  // A running workflow is not started again.
  const temporal = createTemporalClient(elsewhere);
  running.push(temporal);
  const again = {
    workflowType: "rotateKey",
    workflowId: `key-rotation/${rotation.body.previous_key_id}`,
    taskQueue: "atrium",
    args: [rotation.body.previous_key_id],
  };
  expect(await temporal.startWorkflow(again)).toBe("runs");
  expect(offer.server.calls).toHaveLength(2);
});

it("workflow recovery reads page by page, counts workflows it started, and retries soon after a failure", async () => {
  const ids = Array.from({ length: 1_203 }, (_, i) => String(i).padStart(5, "0"));
  const asked: (string | null)[] = [];
  const seen = new Set<string>();
  let failures = 1;
  const logged: unknown[] = [];
  const recovery = createWorkflowRecovery({
    ...pollerDeps,
    log: { ...silentLog, warn: () => undefined, info: (facts: unknown) => void logged.push(facts) } as typeof silentLog,
    backOff: { firstMs: 1, maxMs: 1 },
    kinds: {
      things: {
        list: async (after, limit) => {
          asked.push(after);
          return ids.filter((id) => after === null || id > after).slice(0, limit);
        },
        start: async (id) => {
          if (id === "00700" && failures-- > 0) throw new Error("Temporal is away");
          seen.add(id);
          return id.endsWith("0");
        },
      },
    },
  });
  recovery.start();
  await expect.poll(() => logged).toContainEqual({ kind: "things", workflows: 121 });
  expect(await recovery.drain(1_000)).toBe(true);
  expect([...seen].sort()).toEqual(ids);
  expect(asked).toEqual([null, "00499", null, "00499", "00999"]);
  expect(recovery.stats()).toMatchObject({ runs: 2, failures: 1 });
});

it("a kind whose rows cannot be read keeps none of the others from starting", async () => {
  const started: string[] = [];
  const recovery = createWorkflowRecovery({
    ...pollerDeps,
    backOff: { firstMs: 60_000, maxMs: 60_000 },
    kinds: {
      broken: { list: () => Promise.reject(new Error("no such row")), start: () => Promise.resolve(true) },
      sound: { list: () => Promise.resolve(["one"]), start: async (id) => started.push(id) > 0 },
    },
  });
  recovery.start();
  await expect.poll(() => started).toEqual(["one"]);
  expect(await recovery.drain(1_000)).toBe(true);
  expect(recovery.stats()).toMatchObject({ runs: 1, failures: 1 });
});
