import type { TopicHandler } from "../topics.ts";
import type { StartWorkflow, TemporalClient } from "./client.ts";

/** Task queue of the service's workflows and activities. */
export const TASK_QUEUE = "atrium";

/** A kind of workflow with one instance per row, identified by the row's id. */
export interface WorkflowKind {
  /** Name of the exported workflow function. */
  type: string;
  /** First part of the workflow id: `install` gives `install/<id>`. */
  prefix: string;
}

/** Starts and signals workflows of rows. */
export interface WorkflowStarter {
  /** Starts the row's workflow. @returns false when it is already running */
  start(kind: WorkflowKind, id: string): Promise<boolean>;
  /** Signals the row's workflow, and starts it first if it is not running. */
  signal(kind: WorkflowKind, id: string, signal: string): Promise<void>;
}

/** Creates a starter. Workflow ids are derived from the row's id, so that starting is idempotent. */
export function createWorkflowStarter(
  temporal: Pick<TemporalClient, "startWorkflow" | "signalWithStart">,
): WorkflowStarter {
  const describe = ({ type, prefix }: WorkflowKind, id: string): StartWorkflow => ({
    workflowType: type,
    workflowId: `${prefix}/${id}`,
    taskQueue: TASK_QUEUE,
    args: [id],
  });
  return {
    start: async (kind, id) => (await temporal.startWorkflow(describe(kind, id))) === "started",
    signal: (kind, id, signal) => temporal.signalWithStart(describe(kind, id), signal),
  };
}

/** Waits before retries while Temporal is away, milliseconds. */
export const WORKFLOW_RETRY_MS: readonly number[] = [200, 500, 1_000, 2_000];

/** Handles the messages of a topic by a signal to the workflow of the row that `idMember` of the payload names. */
export function signalOn(
  workflows: Pick<WorkflowStarter, "signal">,
  kind: WorkflowKind,
  { idMember, signal, concurrency }: { idMember: string; signal: string; concurrency: number },
): TopicHandler {
  return {
    handle: (payload) => workflows.signal(kind, String(payload[idMember]), signal),
    retry: WORKFLOW_RETRY_MS,
    concurrency,
  };
}

/** For commands that change the database of a running service, which starts the workflows itself. */
export const noWorkflows: WorkflowStarter = {
  start: () => Promise.reject(new Error("this command starts no workflows")),
  signal: () => Promise.reject(new Error("this command signals no workflows")),
};
