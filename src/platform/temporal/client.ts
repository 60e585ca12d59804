import { Client, WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import { lazyConnection } from "./connection.ts";
import type { TemporalTarget } from "./connection.ts";
import { temporalFailure } from "./failure.ts";
import { namespaceHealth } from "./health.ts";
import { clientTrace } from "./trace.ts";

/** A workflow to start. Its id is derived from the business id, so that starting is idempotent. */
export interface StartWorkflow {
  workflowType: string;
  workflowId: string;
  taskQueue: string;
  args: unknown[];
}

/** The functions of Temporal that the service uses outside the worker. */
export interface TemporalClient {
  /** Starts a workflow. Returns `runs` when one with that id is running; one that has ended is started again. */
  startWorkflow(start: StartWorkflow): Promise<"started" | "runs">;
  /** Signals a workflow, and starts it first if none with that id is running. */
  signalWithStart(start: StartWorkflow, signal: string, args?: unknown[]): Promise<void>;
  /** Returns `ok` or a description of the problem, within 2 s. */
  health(): Promise<string>;
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
    health: () => namespaceHealth(connection, target.namespace, HEALTH_MS),
    close: () => connection.close(),
  };
}
