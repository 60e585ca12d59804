import { expect, it } from "vitest";
import { silentLog } from "../../src/platform/log.ts";
import { createTidying } from "../../src/worker/tidying.ts";

it("works backlogs off in batches, in turn, until none is left, and is not stopped by a task that fails", async () => {
  let backlog = 30_000;
  let other = 20_000;
  const order: string[] = [];
  const tidying = createTidying({
    log: silentLog,
    tasks: {
      failing: () => Promise.reject(new Error("away")),
      backlog: async () => {
        order.push("backlog");
        backlog -= 100;
        return backlog > 0 ? 100 : 0;
      },
      other: async () => {
        order.push("other");
        other -= 100;
        return other > 0 ? 100 : 0;
      },
    },
  });
  await Promise.all([tidying.round(), tidying.round()]);
  expect([backlog, other]).toEqual([0, 0]);
  expect(order.slice(0, 4)).toEqual(["backlog", "other", "backlog", "other"]);
  tidying.stop();
  await tidying.round();
  expect(order).toHaveLength(500);
});
