import { isGrpcServiceError } from "@temporalio/client";
import type { Connection } from "@temporalio/client";
import { lazyConnection } from "./connection.ts";
import type { TemporalTarget } from "./connection.ts";
import { temporalFailure } from "./failure.ts";

/** gRPC's UNAVAILABLE and DEADLINE_EXCEEDED; the library's message adds only addresses. */
const UNREACHABLE: ReadonlySet<number> = new Set([4, 14]);

/**
 * Returns `ok` when the server responds and has the namespace, otherwise a description of the problem. Never throws;
 * takes at most `withinMs`.
 */
export async function namespaceHealth(connection: Connection, namespace: string, withinMs: number): Promise<string> {
  try {
    await connection.withDeadline(Date.now() + withinMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return "ok";
  } catch (error) {
    if (isGrpcServiceError(error) && UNREACHABLE.has(error.code)) return "not reachable";
    return temporalFailure("not usable", error).message;
  }
}

/** As `namespaceHealth`, on a new connection. */
export async function checkNamespace(target: TemporalTarget, withinMs: number): Promise<string> {
  const connection = lazyConnection(target);
  try {
    return await namespaceHealth(connection, target.namespace, withinMs);
  } finally {
    await connection.close();
  }
}
