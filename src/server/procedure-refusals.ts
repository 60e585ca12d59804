import type { OutgoingHttpHeaders } from "node:http";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { errors, ServiceError } from "../platform/errors.ts";
import type { ErrorRow } from "../platform/errors.ts";
import type { NodeResponse } from "../transcoding/index.ts";
import { nodeHeaders } from "./adapter.ts";
import type { Call } from "./call.ts";
import { codeOf, connectError, headersOf } from "./codes.ts";
import type { Gate } from "./gate/index.ts";
import { isGrpcWebText } from "./grpc-web-text.ts";
import { setPlainStatus } from "./patches/connect-grpc-message.ts";
import type { Fail } from "./reporter.ts";

const noProcedure: ErrorRow = [404, "unimplemented", "No such procedure."];

/** `/<package>.<Service>/<Method>`. No REST route has a dot in the first of two segments. */
const procedurePath = /^\/[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\/[A-Za-z_]\w*$/u;

/** Whether a request that matches no route is the call of an unknown procedure. */
export function callsProcedure(path: string, call: Call): boolean {
  return (
    call.protocol === "grpc" ||
    call.protocol === "grpc-web" ||
    (call.request.method === "POST" && procedurePath.test(path))
  );
}

/** Returns the error of such a call. */
export function unknownProcedure(): ServiceError {
  return new ServiceError(noProcedure);
}

/**
 * Responds to such a call in its own protocol (decisions 15.3): trailers only over gRPC and gRPC-Web, 404 with the code
 * `unimplemented` over Connect. The body is not read.
 */
export function refuseUnknown(
  error: ServiceError,
  call: Call,
  response: NodeResponse,
  extra: Readonly<Record<string, string>>,
): number {
  if (call.protocol === "connect") {
    const body = Buffer.from(errorToJsonBytes(connectError(error), undefined));
    const headers = {
      ...extra,
      ...headersOf(error),
      "content-type": "application/json",
      "content-length": String(body.length),
    };
    response.writeHead(error.status, headers).end(body);
    return error.status;
  }
  const trailer = setPlainStatus(new Headers(), connectError(error));
  const web = isGrpcWebText(call.header("content-type") ?? "") ? "application/grpc-web-text" : "application/grpc-web";
  const type = call.protocol === "grpc" ? "application/grpc" : `${web}+proto`;
  trailersOnly(response, { ...extra, ...nodeHeaders(trailer), "content-type": type });
  return 200;
}

/**
 * Returns the response to a Connect call with a method (405) or a content type (415) that its procedure does not
 * accept.
 */
export type RefuseUnread = (status: number, call: Call) => Promise<UniversalServerResponse>;

/**
 * Connect responds to such a call without an error, and before the gate runs. This makes it an error of the contract,
 * in the order of decisions 1.7: the caller is checked before the content type.
 */
export function createRefuseUnread(gate: Gate, fail: Fail): RefuseUnread {
  return async (status, call) => {
    let error = status === 405 ? errors.methodNotAllowed() : errors.unsupportedMediaType();
    let httpStatus = status;
    try {
      if (status === 415 && call.policy !== undefined) {
        await gate.beforeMessage(call.policy, call);
        const refusal = gate.refusal(call.policy, call);
        if (refusal !== undefined) throw refusal;
      }
      fail(error, call);
    } catch (reason) {
      error = fail(reason, call);
      httpStatus = codeToHttpStatus(codeOf(error));
    }
    const header = new Headers({
      ...headersOf(error),
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    return { status: httpStatus, header, body: one(errorToJsonBytes(connectError(error), undefined)) };
  };
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

/**
 * Sends one header block that ends the stream. Node's `end()` would add an empty trailer block, which hides the status.
 */
function trailersOnly(response: NodeResponse, headers: OutgoingHttpHeaders): void {
  if ("stream" in response)
    response.stream.respond({ ":status": 200, ...response.getHeaders(), ...headers }, { endStream: true });
  else response.writeHead(200, headers).end();
}
