import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createTemporalClient } from "../../src/platform/temporal/client.ts";
import { createTemporalWorker } from "../../src/worker/worker.ts";
import { flakyLink } from "../support/flaky-link.ts";
import { temporalServer } from "../support/temporal.ts";

test("a worker whose Temporal returns from a long absence is replaced, and the new one takes work", async () => {
  const { address, namespace } = await temporalServer();
  const [host = "", port] = address.split(":");
  const link = await flakyLink({ host, port: Number(port) });
  onTestFinished(() => link.close());
  const client = createTemporalClient({ address: `127.0.0.1:${link.port}`, namespace });
  onTestFinished(() => client.close());
  const taskQueue = `away-${randomUUID()}`;
  const read: unknown[] = [];
  const warnings: unknown[] = [];
  const infos: unknown[] = [];
  let isReachable = true;
  const worker = createTemporalWorker({
    connection: { address: `127.0.0.1:${link.port}` },
    namespace,
    taskQueue,
    activities: {
      nextInstallStep: (id: string) => {
        read.push(id);
        return Promise.resolve({ kind: "none" });
      },
    },
    clock: systemClock,
    log: Object.assign(Object.create(silentLog) as typeof silentLog, {
      warn: (line: unknown) => warnings.push(line),
      info: (line: unknown) => infos.push(line),
    }),
    graceMs: 1_000,
    isReachable: async () => (isReachable = (await client.health()).state === "ok"),
    awayMs: 0,
  });
  worker.start();
  onTestFinished(() => worker.stop());
  const start = (id: string) =>
    client.startWorkflow({ workflowType: "driveInstall", workflowId: `install/${id}`, taskQueue, args: [id] });
  await expect.poll(() => worker.health()).toBe("ok");
  const [before, after] = [randomUUID(), randomUUID()];
  await start(before);
  await expect.poll(() => read).toContain(before);

  await link.cut();
  await expect.poll(() => isReachable).toBe(false);
  expect(infos).toHaveLength(1);
  await link.restore();
  await expect.poll(() => infos.length).toBe(2);
  await start(after);
  await expect.poll(() => read).toContain(after);
  // The process says once, elsewhere, that Temporal is away.
  expect(warnings).toEqual([]);
});
