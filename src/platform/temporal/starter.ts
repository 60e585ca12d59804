import type { StartWorkflow, TemporalClient } from "./client.ts";

/** Handles one outbox message. */
export type OutboxHandler<P> = (payload: P) => Promise<void>;

/**
 * An outbox handler that starts a workflow for each message: topic in, workflow out. Delivered twice it starts once.
 * @param describe which workflow; its id must be made from ids in the payload alone.
 */
export function startsWorkflow<P>(client: Pick<TemporalClient, "startWorkflow">, describe: (payload: P) => StartWorkflow): OutboxHandler<P> {
  return async (payload) => {
    await client.startWorkflow(describe(payload));
  };
}

/** An outbox handler that signals a workflow; one that has ended needs no signal any more. */
export function signalsWorkflow<P>(
  client: Pick<TemporalClient, "signal">,
  describe: (payload: P) => { workflowId: string; signal: string; args?: unknown[] },
): OutboxHandler<P> {
  return async (payload) => {
    const { workflowId, signal, args } = describe(payload);
    await client.signal(workflowId, signal, args);
  };
}
