import { Client, ScheduleAlreadyRunning, WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import type { ScheduleOptions } from "@temporalio/client";
import { lazyConnection } from "./connection.ts";
import type { TemporalTarget } from "./connection.ts";
import { temporalFailure } from "./failure.ts";
import { namespaceHealth } from "./health.ts";
import type { TemporalHealth } from "./health.ts";
import { clientTrace } from "./trace.ts";

/** A workflow to start. Its id is derived from the business id, so that starting is idempotent. */
export interface StartWorkflow {
  workflowType: string;
  workflowId: string;
  taskQueue: string;
  args: unknown[];
}

/** A workflow without arguments that Temporal starts once a day. */
export interface DailyWorkflow {
  /** Id of the schedule. */
  id: string;
  /** Name of the exported workflow function. */
  type: string;
  /** First part of the workflow id. */
  prefix: string;
  /** Time of the day, UTC. */
  dailyAt: { hour: number; minute: number };
}

/** The functions of Temporal that the service uses outside the worker. */
export interface TemporalClient {
  /** Starts a workflow. Returns `runs` when one with that id is running; one that has ended is started again. */
  startWorkflow(start: StartWorkflow): Promise<"started" | "runs">;
  /** Signals a workflow, and starts it first if none with that id is running. */
  signalWithStart(start: StartWorkflow, signal: string, args?: unknown[]): Promise<void>;
  /** Makes a schedule, or brings the one with that id to this form; one that was paused stays paused. */
  putSchedule(schedule: DailyWorkflow & { taskQueue: string }): Promise<void>;
  /** How the server is; resolves within 2 s, never rejects. */
  health(): Promise<TemporalHealth>;
  close(): Promise<void>;
}

/** Time limits for a call to Temporal and for the health check, milliseconds. */
const CALL_MS = 5000;
const HEALTH_MS = 2000;

/**
 * Creates a client that connects with its first call, so that an unavailable Temporal server delays nothing. A call
 * that fails throws a `TemporalFailure`, which says whether a retry may succeed.
 */
export function createTemporalClient(target: TemporalTarget): TemporalClient {
  const connection = lazyConnection(target);
  const { workflow, schedule } = new Client({
    connection,
    namespace: target.namespace,
    interceptors: { workflow: [clientTrace] },
  });

  async function call<T>(
    what: string,
    work: () => Promise<T>,
    expected: (error: unknown) => T | undefined,
  ): Promise<T> {
    try {
      return await connection.withDeadline(Date.now() + CALL_MS, work);
    } catch (error) {
      const answer = expected(error);
      if (answer !== undefined) return answer;
      throw temporalFailure(what, error);
    }
  }

  return {
    startWorkflow: ({ workflowType, workflowId, taskQueue, args }) =>
      call<"started" | "runs">(
        `Temporal could not start the workflow ${workflowId}`,
        async () => {
          await workflow.start(workflowType, {
            workflowId,
            taskQueue,
            args,
            workflowIdReusePolicy: "ALLOW_DUPLICATE",
            workflowIdConflictPolicy: "FAIL",
          });
          return "started";
        },
        (error) => (error instanceof WorkflowExecutionAlreadyStartedError ? "runs" : undefined),
      ),
    signalWithStart: ({ workflowType, workflowId, taskQueue, args }, signal, signalArgs = []) =>
      call<void>(
        `Temporal could not signal the workflow ${workflowId}`,
        async () => {
          await workflow.signalWithStart(workflowType, { workflowId, taskQueue, args, signal, signalArgs });
        },
        () => undefined,
      ),
    putSchedule: (daily) =>
      call<void>(
        `Temporal could not store the schedule ${daily.id}`,
        async () => {
          const wanted = scheduleOf(daily);
          try {
            await schedule.create(wanted);
          } catch (error) {
            if (!(error instanceof ScheduleAlreadyRunning)) throw error;
            await schedule.getHandle(daily.id).update(({ state }) => ({ ...wanted, state }));
          }
        },
        () => undefined,
      ),
    health: () => namespaceHealth(connection, target.namespace, HEALTH_MS),
    close: () => connection.close(),
  };
}

function scheduleOf({ id, type, prefix, dailyAt, taskQueue }: DailyWorkflow & { taskQueue: string }) {
  return {
    scheduleId: id,
    spec: { calendars: [{ hour: dailyAt.hour, minute: dailyAt.minute }], jitter: "10 minutes" },
    // Temporal appends the time to the id.
    action: { type: "startWorkflow", workflowType: type, workflowId: `${prefix}/daily`, taskQueue, args: [] },
    policies: { overlap: "SKIP", catchupWindow: "1 day" },
  } satisfies ScheduleOptions;
}
