import { create } from "@bufbuild/protobuf";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "./bundled/connect.ts";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { runCall, within } from "./call.ts";
import { settingsOf } from "./settings.ts";
import type { AtriumOptions } from "./settings.ts";

/** The code of the protocol for a status of HTTP. */
const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.FailedPrecondition,
  410: Code.FailedPrecondition,
  422: Code.FailedPrecondition,
  429: Code.ResourceExhausted,
  501: Code.Unimplemented,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
};

/** Calls the REST route of an rpc; `path` begins with a slash. @throws AtriumError */
export type RestCall = (
  method: DescMethod,
  path: string,
  init?: Pick<RequestInit, "method" | "headers" | "body" | "signal">,
) => Promise<Response>;

/**
 * Calls over REST, with the credential, the retries and the hooks of a transport: for answers that are files, such as
 * an export. The deadline of a call ends with the headers of its response, whose body is the caller's to read.
 */
export function createRestCall(options: AtriumOptions): RestCall {
  const settings = settingsOf(options);
  const { baseUrl, fetch, timeoutMs } = settings;

  async function send(path: string, init: RequestInit): Promise<Response> {
    const response = await fetch(baseUrl + path, init);
    if (response.ok) return response;
    throw await errorOf(response);
  }

  return (method, path, init = {}) => {
    const signal = init.signal ?? undefined;
    return runCall(settings, method, { header: init.headers, signal, timeoutMs }, async (headers, leftMs) => {
      const failed = new AbortController();
      const end = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
      try {
        return await within(send(path, { ...init, headers, signal: end }), leftMs, signal);
      } catch (reason) {
        failed.abort();
        throw reason;
      }
    });
  };
}

/** Body of an error over REST, as far as it is read. */
interface Problem {
  code?: string;
  message?: string;
  errors?: readonly { field?: string; code?: string; message?: string }[];
}

async function errorOf(response: Response): Promise<ConnectError> {
  const { status, headers } = response;
  const problem = (await response.json().catch(() => ({}))) as Problem | null;
  const { code, message = response.statusText, errors = [] } = problem ?? {};
  const connectCode = CODES[status] ?? (status < 500 ? Code.InvalidArgument : Code.Internal);
  const info = create(ErrorInfoSchema, {
    reason: (code ?? "internal").toUpperCase(),
    domain: "atrium",
    metadata: { http_status: String(status) },
  });
  const violations = create(BadRequestSchema, {
    fieldViolations: errors.map((error) => ({
      field: error.field ?? "",
      reason: (error.code ?? "").toUpperCase(),
      description: error.message ?? "",
    })),
  });
  return new ConnectError(message, connectCode, headers, [
    ...(code === undefined ? [] : [{ desc: ErrorInfoSchema, value: info }]),
    ...(errors.length === 0 ? [] : [{ desc: BadRequestSchema, value: violations }]),
  ]);
}
