import { createContextKey } from "@connectrpc/connect";
import type { HandlerContext } from "@connectrpc/connect";
import type { Effect, Reauthorize } from "./db/types.ts";
import { errors } from "./errors.ts";
import type { ServiceError } from "./errors.ts";

/** The acting identity: a person, or a credential of an organization. */
export interface Principal {
  type: "user" | "api_key" | "automation_token" | "svid" | "scim_token";
  /** user_uuid, key_id, identity_id or token_id. */
  id: string;
}

/** An X.509-SVID as its record names it. */
export interface SvidName {
  readonly orgUuid: string;
  /** Unique in the organization; lower-case hexadecimal. */
  readonly serial: string;
  readonly spiffeId: string;
}

/** Properties of a request that are known before its credential is verified. */
export interface RequestInfo {
  /** `X-Request-Id`, from the client or generated. */
  requestId: string;
  /** Client address (decisions 3.11), IPv4-mapped addresses as IPv4. */
  address: string;
  userAgent: string;
  /** `X-Device-Uuid`, a valid UUID in lower case. */
  deviceUuid: string | undefined;
  /** Aborted when the call's deadline passes; undefined without a deadline. Transactions observe it. */
  signal?: AbortSignal | undefined;
  /** The client keeps its refresh token in a cookie (decisions 17.9); set by the gate. */
  cookieMode?: CookieMode | undefined;
  /** A public rpc was sent a bearer token that is not valid. Set by the gate. */
  invalidBearer?: boolean | undefined;
}

/** How long a browser keeps the session cookie: until it is closed, or as long as the session may last. */
export type CookieMode = "session" | "persistent";

/** A caller whose credential was verified for this request. */
export interface Caller {
  principal: Principal;
  /**
   * Subject of the caller's rate limits, `type:id`; the principal when absent. For API keys it is their creator.
   */
  countsAs?: string;
  /** The person; null for credentials of an organization. */
  userUuid: string | null;
  email: string | null;
  /** The organization the credential is valid for; null for a token without one. */
  orgUuid: string | null;
  orgName: string | null;
  /** Session of a person's token (claim `sid`); null otherwise. */
  sessionId: string | null;
  /** Role names, as in the token. */
  roles: readonly string[];
  /** Whether the person currently owns `orgUuid`. */
  isOwner: boolean;
  /** Owner, or role admin; for credentials also limited by their scopes. */
  isAdmin: boolean;
  isPlatformAdmin: boolean;
  isSuperuser: boolean;
  isOperator: boolean;
  /** Whether the role has the permission `vault:write` (and the key has the scope). */
  canWriteVault: boolean;
  /** Features and `app:<slug>` from the token. */
  entitlements: readonly string[];
  /** App ids from the token, except those revoked by the rotation of an app key. */
  appAdmin: readonly string[];
  sandbox: boolean;
  /** `read:x`, `write:x`, `admin`, `vault:write` of a key; null: not limited by scopes. */
  scopes: ReadonlySet<string> | null;
  /** The token came from step-up and is still valid. */
  elevated: boolean;
  /** Verified claims of a person's token; null for other credentials. */
  claims: Readonly<Record<string, unknown>> | null;
  /** Token expiry, seconds since the epoch; null for credentials without expiry. */
  expiresAt: number | null;
  /** Checks the caller again in the transactions that write for them. */
  readonly reauthorize: Reauthorize;
  /** Set by the server, on a copy of the caller, when the request has an Idempotency-Key. */
  readonly effect?: Effect | undefined;
  /** Set by the server, on a copy of the caller, when the request has a deadline; aborted when it passes. */
  readonly signal?: AbortSignal | undefined;
}

/** Set by the server on every protocol before the gate runs. */
export const requestInfoKey = createContextKey<RequestInfo | undefined>(undefined, { description: "request info" });
/** The verified caller, set by the gate; undefined on public routes. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

/**
 * The refresh token of a session whose response has no member for one; set by the handler in cookie mode, and sent in
 * the cookie alone.
 */
export const sessionTokenKey = createContextKey<string | undefined>(undefined, { description: "session token" });

/** How the person behind a token proved who they are (RFC 8176); empty for other credentials. */
export function amrOf({ claims }: Pick<Caller, "claims">): readonly string[] {
  const amr = claims?.["amr"];
  return Array.isArray(amr) ? (amr as string[]) : [];
}

/** Returns the request info of the request that a handler serves. */
export function requestInfo(context: Pick<HandlerContext, "values">): RequestInfo {
  const info = context.values.get(requestInfoKey);
  if (info === undefined) throw new Error("request info is missing: the handler was called outside the server");
  return info;
}

/** Returns the caller of a handler. @throws {unauthorized} when there is none */
export function caller(context: Pick<HandlerContext, "values">): Caller {
  const found = context.values.get(callerKey);
  if (found === undefined) throw errors.unauthorized();
  return found;
}

/** Whether the caller is a service identity, by an automation token or by an SVID; the principal's id is its id. */
export function isServiceIdentity({ principal }: Pick<Caller, "principal">): boolean {
  return principal.type === "automation_token" || principal.type === "svid";
}

/** Creates the error for a caller that is no person. */
export const personRequired = (): ServiceError =>
  errors.forbidden({ message: "This needs a person's own access token." });

/** Returns the organization of the caller. @throws {forbidden} when the token has none */
export function callerOrg(caller: Caller): string {
  if (caller.orgUuid === null) throw errors.forbidden({ message: "This token names no organization; sign in to one." });
  return caller.orgUuid;
}
