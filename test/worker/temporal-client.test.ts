import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { silentLog } from "../../src/platform/log.ts";
import { createTemporalClient } from "../../src/platform/temporal/client.ts";
import { createTemporalWorker } from "../../src/worker/worker.ts";
import { testClock } from "../support/clock.ts";
import { freePort } from "../support/postgres.ts";

test.each([0, 60, 150, 250])(
  "a call that is retried ends without an uncaught error when its client is closed after %s ms",
  async (ms) => {
    const client = createTemporalClient({ address: `127.0.0.1:${await freePort()}`, namespace: "none" });
    const health = client.health();
    await sleep(ms);
    await client.close();
    expect((await health).state).toMatch(/^not (reachable|usable)/);
  },
);

test("a worker that never reached Temporal is not connected, in words", async () => {
  const worker = createTemporalWorker({
    connection: { address: `127.0.0.1:${await freePort()}` },
    namespace: "none",
    taskQueue: "nobody",
    activities: {},
    clock: testClock(),
    log: silentLog,
    graceMs: 0,
    isReachable: () => Promise.resolve(true),
  });
  worker.start();
  await expect.poll(() => worker.failures().count).toBeGreaterThan(0);
  expect(worker.health()).toBe("not connected");
  await worker.stop();
});
