import { isGrpcServiceError } from "@temporalio/client";
import type { Connection } from "@temporalio/client";
import { lazyConnection } from "./connection.ts";
import type { TemporalTarget } from "./connection.ts";
import { temporalFailure } from "./failure.ts";

/** gRPC's UNAVAILABLE and DEADLINE_EXCEEDED: nobody answers; what else the library says of it are addresses. */
const AWAY: ReadonlySet<number> = new Set([4, 14]);

/**
 * `ok` when the server answers and has the namespace, else what is wrong; never throws, never takes longer than
 * `withinMs`.
 */
export async function namespaceHealth(connection: Connection, namespace: string, withinMs: number): Promise<string> {
  try {
    await connection.withDeadline(Date.now() + withinMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return "ok";
  } catch (error) {
    if (isGrpcServiceError(error) && AWAY.has(error.code)) return "not reachable";
    return temporalFailure("not usable", error).message;
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
