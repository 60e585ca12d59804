import { createContextKey } from "@connectrpc/connect";
import type { HandlerContext } from "@connectrpc/connect";
import type { Effect, Judge } from "./db/types.ts";
import { errors } from "./errors.ts";

/** The identity that acts: a person, or a credential of an organization. */
export interface Principal {
  type: "user" | "api_key" | "automation_token" | "svid" | "scim_token";
  /** user_uuid, key_id, identity_id or token_id. */
  id: string;
}

/** Facts about a request that are known before its credential is verified. */
export interface RequestInfo {
  /** `X-Request-Id`, from the client or generated. */
  requestId: string;
  /** Client address (decisions 3.11), IPv4-mapped addresses as IPv4. */
  address: string;
  userAgent: string;
  /** `X-Device-Uuid`, a valid UUID in lower case. */
  deviceUuid: string | undefined;
  /** Aborted when the call's deadline passes; undefined for a call without one. Transactions take it from here. */
  signal?: AbortSignal | undefined;
}

/** A caller whose credential was verified for this request. */
export interface Caller {
  principal: Principal;
  /**
   * Whose rate limits the caller uses, as `type:id`; the principal's own when absent. Keys use those of their creator.
   */
  countsAs?: string;
  /** The person; null for credentials of an organization. */
  userUuid: string | null;
  email: string | null;
  /** The organization the credential acts in; null for a token without one. */
  orgUuid: string | null;
  orgName: string | null;
  /** Session of a person's token; null otherwise. Equals the claim `sid`. */
  sessionId: string | null;
  /** Role names, as in the token. */
  roles: readonly string[];
  /** Live: owner of `orgUuid`. */
  isOwner: boolean;
  /** Owner, role admin; for credentials also bounded by their scopes. */
  isAdmin: boolean;
  isPlatformAdmin: boolean;
  isSuperuser: boolean;
  isOperator: boolean;
  /** Role has the permission `vault:write` (and the key the scope). */
  canWriteVault: boolean;
  /** Features and `app:<slug>` from the token. */
  entitlements: readonly string[];
  /** App ids from the token, without those that the rotation of an app key revoked. */
  appAdmin: readonly string[];
  sandbox: boolean;
  /** `read:x`, `write:x`, `admin`, `vault:write` of a key; null: not limited by scopes. */
  scopes: ReadonlySet<string> | null;
  /** The token came from step-up and is still valid. */
  elevated: boolean;
  /** Claims of a person's token as verified; null for other credentials. */
  claims: Readonly<Record<string, unknown>> | null;
  /** Token expiry, seconds since the epoch; null for credentials without. */
  expiresAt: number | null;
  /** Judges the caller again in the transactions that write for them. */
  readonly judge: Judge;
  /** Set on a copy of the caller by the server when the request carries an Idempotency-Key. */
  readonly effect?: Effect | undefined;
  /** Set on a copy of the caller by the server when the request carries a deadline, and aborted when that passes. */
  readonly signal?: AbortSignal | undefined;
}

/** Request facts, set by the server on every protocol before the gate runs. */
export const requestInfoKey = createContextKey<RequestInfo | undefined>(undefined, { description: "request info" });
/** The verified caller, set by the gate; undefined on public routes. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

/** Facts of the request a handler is serving. */
export function requestInfo(context: Pick<HandlerContext, "values">): RequestInfo {
  const info = context.values.get(requestInfoKey);
  if (info === undefined) throw new Error("request info is missing: the handler was called outside the server");
  return info;
}

/** The caller of a handler behind the gate. @throws {unauthorized} when there is none */
export function caller(context: Pick<HandlerContext, "values">): Caller {
  const found = context.values.get(callerKey);
  if (found === undefined) throw errors.unauthorized();
  return found;
}

/** The organization the caller acts in. @throws {forbidden} when the token has none */
export function callerOrg(who: Caller): string {
  if (who.orgUuid === null) throw errors.forbidden({ message: "This token names no organization; sign in to one." });
  return who.orgUuid;
}
