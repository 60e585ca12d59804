import type { Interceptor } from "../bundled/connect.ts";
import { Code, ConnectError, createContextKey } from "../bundled/connect.ts";
import { ErrorInfoSchema } from "../../../../gen/google/rpc/error_details_pb.ts";
import type { Caller } from "./caller.ts";
import { TokenRefusal, unauthorized } from "./refusal.ts";
import type { RefusalCode } from "./refusal.ts";
import type { Verifier } from "./verifier.ts";

/**
 * What a caller must have. Everything that is given is demanded. Of API keys only those with the scope `admin` have the
 * roles and apps of their maker.
 */
export interface Requirements {
  /** One of these roles. */
  roles?: readonly string[];
  /**
   * All of these features, such as `sso` or `app:<slug>`; platform admins have every one. The service is asked about
   * what a token lacks that had no room for all.
   */
  entitlements?: readonly string[];
  /** A step-up. */
  elevated?: boolean;
  /** Administration of this app, which platform admins have of every one; the service is always asked. */
  appAdmin?: string;
}

/** The part of a request and response of Express that is used. */
interface ExpressRequest {
  headers: { authorization?: string | undefined };
  caller?: Caller;
}
interface ExpressResponse {
  status(code: number): { set(headers: Record<string, string>): { send(body: unknown): unknown } };
}
/** The part of a request and reply of Fastify that is used. */
interface FastifyRequest {
  headers: { authorization?: string | undefined };
  caller?: Caller;
}
interface FastifyReply {
  code(status: number): { headers(values: Record<string, string>): { send(body: string): unknown } };
}

/** Lets requests in that carry a good token, for one of four frameworks. */
export interface Guard {
  /** The caller of an `Authorization` header. @throws TokenRefusal */
  check(authorization: string | null | undefined): Promise<Caller>;
  /** Wraps a handler of the Fetch API. */
  fetch(
    handler: (request: Request, caller: Caller) => Response | Promise<Response>,
  ): (request: Request) => Promise<Response>;
  /** Middleware; sets `request.caller`. */
  express(request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void): Promise<void>;
  /** A `preHandler` hook; sets `request.caller`. */
  fastify(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  /** An interceptor for servers; sets the context value {@link callerKey}. */
  connect: Interceptor;
}

/** Context value of Connect servers with the caller that the guard let in. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

const CONNECT_CODES: Readonly<Record<RefusalCode, Code>> = {
  unauthorized: Code.Unauthenticated,
  forbidden: Code.PermissionDenied,
  step_up_required: Code.PermissionDenied,
  unavailable: Code.Unavailable,
};

/** Demands a token, and what else is required; responds as the service itself does. */
export function guard(verifier: Verifier, requirements: Requirements = {}): Guard {
  const { appAdmin, entitlements = [] } = requirements;

  async function check(authorization: string | null | undefined): Promise<Caller> {
    const token = /^Bearer +([^\s]+)$/iu.exec(authorization ?? "")?.[1];
    if (token === undefined) throw unauthorized("A token is required; send it as Authorization: Bearer.");
    let caller = await (appAdmin === undefined ? verifier.verify(token) : verifier.introspect(token));
    // The token did not have room for all: only the service knows the rest.
    if (isCut(caller) && lacksFeature(caller, entitlements)) caller = await verifier.introspect(token);
    demand(caller, requirements);
    return caller;
  }

  return {
    check,
    fetch: (handler) => async (request) => {
      let caller: Caller;
      try {
        caller = await check(request.headers.get("authorization"));
      } catch (error) {
        if (!(error instanceof TokenRefusal)) throw error;
        return new Response(JSON.stringify(error.problem), { status: error.status, headers: error.headers });
      }
      return handler(request, caller);
    },
    async express(request, response, next) {
      try {
        request.caller = await check(request.headers.authorization);
      } catch (error) {
        if (!(error instanceof TokenRefusal)) return next(error);
        response.status(error.status).set(error.headers).send(JSON.stringify(error.problem));
        return;
      }
      next();
    },
    async fastify(request, reply) {
      try {
        request.caller = await check(request.headers.authorization);
        return undefined;
      } catch (error) {
        if (!(error instanceof TokenRefusal)) throw error;
        return reply.code(error.status).headers(error.headers).send(JSON.stringify(error.problem));
      }
    },
    connect: (next) => async (request) => {
      try {
        request.contextValues.set(callerKey, await check(request.header.get("authorization")));
      } catch (error) {
        throw error instanceof TokenRefusal ? connectErrorOf(error) : error;
      }
      return next(request);
    },
  };
}

/** The error with the detail by which clients tell a step-up from a refusal, as the service sends it. */
function connectErrorOf(refusal: TokenRefusal): ConnectError {
  const { errorCode, message, status } = refusal;
  const { "content-type": _, ...headers } = refusal.headers;
  const value = { reason: errorCode.toUpperCase(), domain: "atrium", metadata: { http_status: String(status) } };
  return new ConnectError(message, CONNECT_CODES[errorCode], headers, [{ desc: ErrorInfoSchema, value }], refusal);
}

/** Whether a token, which is all that is known of its caller, has only some of their entitlements. */
function isCut({ claims: { truncated }, scopes }: Caller): boolean {
  return scopes === undefined && Array.isArray(truncated) && truncated.includes("entitlements");
}

function lacksFeature(caller: Caller, entitlements: readonly string[]): boolean {
  return !caller.platformAdmin && !entitlements.every((feature) => caller.entitlements.includes(feature));
}

/** @throws {forbidden} @throws {step_up_required} */
function demand(caller: Caller, { roles, entitlements = [], elevated, appAdmin }: Requirements): void {
  // Decisions 2.5: the power of a key is its scopes within the present power of its maker.
  const isNarrow = caller.principal?.type === "api_key" && caller.scopes?.includes("admin") !== true;
  const lacking =
    (isNarrow && (roles !== undefined || appAdmin !== undefined)) ||
    (roles !== undefined && !roles.some((role) => caller.roles.includes(role))) ||
    lacksFeature(caller, entitlements) ||
    (appAdmin !== undefined && !caller.platformAdmin && !caller.appAdmin.includes(appAdmin.toLowerCase()));
  if (lacking) throw new TokenRefusal("forbidden", "The token does not grant this.");
  if (elevated === true && !caller.elevated)
    throw new TokenRefusal("step_up_required", "This needs a step-up; verify it and send the elevated token.");
}
