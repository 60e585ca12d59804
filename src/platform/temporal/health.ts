import type { Connection } from "@temporalio/client";
import { lazyConnection } from "./connection.ts";
import type { TemporalTarget } from "./connection.ts";
import { temporalFailure } from "./failure.ts";

/** `ok` when the server answers and has the namespace, else what is wrong; never throws, never takes longer than `withinMs`. */
export async function namespaceHealth(connection: Connection, namespace: string, withinMs: number): Promise<string> {
  try {
    await connection.withDeadline(Date.now() + withinMs, () => connection.workflowService.describeNamespace({ namespace }));
    return "ok";
  } catch (error) {
    return temporalFailure("not reachable", error).message;
  }
}

/** As `namespaceHealth`, on a connection of its own. */
export async function checkNamespace(target: TemporalTarget, withinMs: number): Promise<string> {
  const connection = lazyConnection(target);
  try {
    return await namespaceHealth(connection, target.namespace, withinMs);
  } finally {
    await connection.close();
  }
}
