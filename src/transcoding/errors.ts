import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { Refusal } from "./refusal.ts";
import type { PrintedError } from "./types.ts";

/**
 * Prints an error as Connect does for unary calls: its JSON, its status, its
 * metadata as headers. Any other error becomes `internal` without details.
 */
export function printConnectError(thrown: unknown): PrintedError {
  const error = thrown instanceof ConnectError ? thrown : new ConnectError("internal error", Code.Internal);
  const headers: Record<string, string> = { "content-type": "application/json" };
  error.metadata.forEach((value, name) => (headers[name] = value));
  const status = error instanceof Refusal ? error.status : codeToHttpStatus(error.code);
  if (error instanceof Refusal) Object.assign(headers, error.headers);
  return { status, headers, body: errorToJsonBytes(error, undefined) };
}
