import { expect, it } from "vitest";
import { silentLog } from "../../src/platform/log.ts";
import { createTidying } from "../../src/worker/tidying.ts";

it("works a backlog off in batches and is not stopped by a task that fails", async () => {
  let backlog = 3;
  let reached = 0;
  const tidying = createTidying({
    log: silentLog,
    tasks: {
      failing: () => Promise.reject(new Error("away")),
      backlog: async () => (backlog > 0 ? backlog-- : 0),
      endless: async () => ++reached,
    },
  });
  await tidying.round();
  expect(backlog).toBe(0);
  expect(reached).toBe(20);
  tidying.stop();
  await tidying.round();
  expect(reached).toBe(20);
});
