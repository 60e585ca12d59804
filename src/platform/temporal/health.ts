import { isGrpcServiceError } from "@temporalio/client";
import type { Connection } from "@temporalio/client";
import { lazyConnection } from "./connection.ts";
import type { TemporalTarget } from "./connection.ts";
import { temporalFailure } from "./failure.ts";

/** How a Temporal server is. */
export interface TemporalHealth {
  /** `ok`, or a short description of the problem. */
  state: string;
  /** Why it is not reachable, for the log: it may name addresses. */
  reason?: string;
}

/** The reason by the gRPC status of a server that cannot be reached: DEADLINE_EXCEEDED, UNAVAILABLE. */
const UNREACHABLE: ReadonlyMap<number, (details: string) => string> = new Map([
  [4, () => "it does not respond"],
  [14, reasonOf],
]);

/** Describes the server: `ok` when it responds and has the namespace. Never rejects; takes at most `withinMs`. */
export async function namespaceHealth(
  connection: Connection,
  namespace: string,
  withinMs: number,
): Promise<TemporalHealth> {
  try {
    await connection.withDeadline(Date.now() + withinMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return { state: "ok" };
  } catch (error) {
    const reason = isGrpcServiceError(error) ? UNREACHABLE.get(error.code)?.(error.details) : undefined;
    if (reason !== undefined) return { state: "not reachable", reason };
    return { state: temporalFailure("not usable", error).message };
  }
}

/** Describes it as `namespaceHealth` does, on a new connection. */
export async function checkNamespace(target: TemporalTarget, withinMs: number): Promise<TemporalHealth> {
  const connection = lazyConnection(target);
  try {
    return await namespaceHealth(connection, target.namespace, withinMs);
  } finally {
    await connection.close();
  }
}

/** The error of the last attempt to connect in one line: grpc-js adds words, times, and places in OpenSSL's source. */
function reasonOf(details: string): string {
  const attempt =
    /Last error: (?:Error(?: \[\w+\])?: )?(?<error>.*?)\s*(?:\([\d-]+T[\d:.]+Z\))?\. Resolution note:/su.exec(details);
  const text = (attempt?.groups?.["error"] ?? details).replaceAll(/\s+/gu, " ");
  return /^[0-9A-F]+:error:[^:]*:[^:]*:[^:]*:(?<reason>[^:]+)/u.exec(text)?.groups?.["reason"] ?? text;
}
