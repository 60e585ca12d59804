import { Client, WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import { lazyConnection } from "./connection.ts";
import type { TemporalTarget } from "./connection.ts";
import { temporalFailure } from "./failure.ts";
import { namespaceHealth } from "./health.ts";
import { clientTrace } from "./trace.ts";

/** A workflow to start. Its id is made from the business id, so that starting twice is starting once. */
export interface StartWorkflow {
  workflowType: string;
  workflowId: string;
  taskQueue: string;
  args: unknown[];
}

/** What of Temporal the service uses outside the worker. */
export interface TemporalClient {
  /** Starts a workflow. `runs`: one of that id is under way; one that has ended is started again. */
  startWorkflow(start: StartWorkflow): Promise<"started" | "runs">;
  /** Signals a workflow and starts it first when none of that id runs. */
  signalWithStart(start: StartWorkflow, signal: string, args?: unknown[]): Promise<void>;
  /** `ok`, or what is wrong; within 2 s. */
  health(): Promise<string>;
  close(): Promise<void>;
}

/** Longest a call to Temporal may take, milliseconds. */
const CALL_MS = 5000;
const HEALTH_MS = 2000;

/**
 * A client that connects with its first call, so that a Temporal that is away holds up nothing;
 * calls then fail with a `TemporalFailure` that says whether trying again makes sense.
 */
export function createTemporalClient(target: TemporalTarget): TemporalClient {
  const connection = lazyConnection(target);
  const { workflow } = new Client({
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
        `workflow ${workflowId} could not be started`,
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
        `workflow ${workflowId} could not be signalled`,
        async () => {
          await workflow.signalWithStart(workflowType, { workflowId, taskQueue, args, signal, signalArgs });
        },
        () => undefined,
      ),
    health: () => namespaceHealth(connection, target.namespace, HEALTH_MS),
    close: () => connection.close(),
  };
}
