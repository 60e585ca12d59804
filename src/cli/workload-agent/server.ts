import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { Client, Interceptor } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { AccessService } from "../../../gen/atrium/access/v1/access_pb.ts";
import { SpiffeService } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { BadRequestSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { createDocuments } from "./documents.ts";

const TIMEOUT_MS = 15_000;
/** A connection that is silent for so long is asked whether it is alive: a dead one stays for 15 minutes otherwise. */
const ALIVE = { pingIntervalMs: 20_000, pingTimeoutMs: 5_000 };

/** What the agent authenticates with: the automation token, or the SVID it has. */
export type Credential = { token: string } | { cert: string; key: string };

/** The service, called with one credential. Close it when the credential is replaced. */
export interface Server {
  access: Client<typeof AccessService>;
  spiffe: Client<typeof SpiffeService>;
  document: ReturnType<typeof createDocuments>;
  close(): void;
}

/**
 * Opens connections to the service's listener of mutual TLS on demand. The signal ends the calls in flight and fails
 * later ones: a service that is silent does not hold up the end of the program.
 */
export function connectServer(url: string, ca: string, credential: Credential, stop: AbortSignal): Server {
  const baseUrl = url.replace(/\/+$/u, "");
  const tls = { ca, minVersion: "TLSv1.3", ...("cert" in credential ? credential : {}) } as const;
  const sessions = new Http2SessionManager(baseUrl, ALIVE, tls);
  const abort = (): void => sessions.abort();
  stop.addEventListener("abort", abort, { once: true });
  const authorize: Interceptor = (next) => (request) => {
    stop.throwIfAborted();
    if ("token" in credential) request.header.set("authorization", `Bearer ${credential.token}`);
    return next(request);
  };
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: "2",
    sessionManager: sessions,
    defaultTimeoutMs: TIMEOUT_MS,
    interceptors: [authorize],
  });
  return {
    access: createClient(AccessService, transport),
    spiffe: createClient(SpiffeService, transport),
    document: createDocuments(sessions, new URL(baseUrl).pathname.replace(/\/$/u, ""), TIMEOUT_MS, stop),
    close() {
      stop.removeEventListener("abort", abort);
      abort();
    },
  };
}

/** Whether the service refused the credential, for the time being or for good. */
export function isRefusal(error: unknown): boolean {
  return [Code.Unauthenticated, Code.PermissionDenied].includes(ConnectError.from(error).code);
}

/**
 * Whether a response was not read to its end. Node reports this of whole responses too, when their streams close before
 * the reading begins.
 */
export function isUnread(error: unknown): boolean {
  const { cause } = ConnectError.from(error);
  return cause instanceof Error && (cause as NodeJS.ErrnoException).code === "ERR_STREAM_PREMATURE_CLOSE";
}

/** Codes of OpenSSL for a certificate that the trusted ones do not verify. */
const UNVERIFIED = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** The reason of a failed call, for a log line. */
export function reasonOf(error: unknown): string {
  const { cause, rawMessage } = ConnectError.from(error);
  if (!(cause instanceof Error)) return rawMessage;
  const { code = "" } = cause as NodeJS.ErrnoException;
  return UNVERIFIED.has(code) ? "the file of --ca-file does not verify its certificate" : cause.message;
}

/** What the service refuses in a request, member by member. */
export function faultsOf(error: ConnectError): string {
  const faults = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  if (faults.length === 0) return error.rawMessage;
  return faults.map(({ field, description }) => `${field} ${description}`).join("; ");
}
