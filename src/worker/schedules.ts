import { createPoller } from "../platform/poller.ts";
import type { Poller, PollerDeps } from "../platform/poller.ts";
import type { DailyWorkflow, TemporalClient } from "../platform/temporal/client.ts";
import { TASK_QUEUE } from "../platform/temporal/workflows.ts";

/** Settings of {@link createSchedulePoller}. */
export interface SchedulePollerOptions extends PollerDeps {
  temporal: Pick<TemporalClient, "putSchedule">;
  schedules: readonly DailyWorkflow[];
}

/** Stores the schedules in Temporal at the start, and every hour in case that it has lost them. */
export function createSchedulePoller({ temporal, schedules, ...deps }: SchedulePollerOptions): Poller {
  return createPoller(deps, {
    name: "schedules",
    intervalMs: 3_600_000,
    backOff: { firstMs: 1_000, maxMs: 60_000 },
    run: async () => {
      for (const schedule of schedules) await temporal.putSchedule({ ...schedule, taskQueue: TASK_QUEUE });
    },
  });
}
