import type { DescMethod } from "@bufbuild/protobuf";
import { Credential, Power } from "../../gen/atrium/options/v1/options_pb.ts";
import type { Caller, RequestInfo } from "../platform/caller.ts";
import { defineErrors, errors, ServiceError } from "../platform/errors.ts";
import type { FieldViolation } from "../platform/errors.ts";
import type { Demand } from "../platform/rpc.ts";
import { badSignature, signatureHeaders } from "../platform/outgoing/signature.ts";
import { isUuid } from "../platform/value-rules.ts";
import type { Call } from "./call.ts";
import type { Policy } from "./policy.ts";
import type { Rates } from "./rates.ts";

/** What the server needs of the domains to know a caller. */
export interface Authenticators {
  /** The caller behind an access token, an API key or an automation token. Throws `unauthorized`. */
  bearer(token: string, info: RequestInfo): Promise<Caller>;
  /**
   * Whether a bearer that was accepted before still holds; asked again and again for open streams. Throws
   * `unauthorized`.
   */
  holds(token: string): Promise<void>;
  /** The organization behind a SCIM token; `orgUuid` of the caller is the token's. Throws `unauthorized`. */
  scim(token: string, info: RequestInfo): Promise<Caller>;
  /**
   * What the caller is to the app: its administrator, else a member of its organization; undefined: there is no such
   * app for them.
   */
  appAdmin(caller: Caller, appId: string): Promise<"admin" | "own" | undefined>;
  /** Whether the caller administers any app at all. */
  anyAppAdmin(caller: Caller): boolean;
}

const gateErrors = defineErrors({
  appNotFound: [404, "app_not_found", "No such app."],
});

/** Fields by their proto names, as text. */
export type Params = Readonly<Record<string, string>>;

/** Decides who may call, in the order of decisions 1.7. */
export interface Gate {
  /**
   * Credential and general rate limit; sets `call.caller`, and keeps what the domain objects to. Needs headers only.
   */
  authenticate(policy: Policy, call: Call): void | Promise<void>;
  /** Both of these two, for protocols that know the path before the body. */
  enter(policy: Policy, call: Call, params: Params): void | Promise<void>;
  /**
   * Path ids, tenant, powers, elevation, what the domain demands. `params` holds what is known before the body, or the
   * fields of the message.
   */
  admit(policy: Policy, call: Call, params: Params): void | Promise<void>;
  /** Tenant and app that only the body names. */
  admitTenant(policy: Policy, call: Call, params: Params): void | Promise<void>;
  /**
   * Judges the credential again, and the powers where they have been judged, of a call whose message was long in
   * coming: one that ended meanwhile opens nothing.
   */
  renew(policy: Policy, call: Call): void | Promise<void>;
  /**
   * Whether the credential of a call under way still holds; counts against no budget. Rejects as `authenticate` does.
   */
  recheck(policy: Policy, call: Call): Promise<void>;
  /** The refusal a caller gets whatever the message says; undefined when the message matters. */
  refusal(policy: Policy, call: Call): ServiceError | undefined;
}

/**
 * How old the judgement of a credential may be when the message has been read, milliseconds; most messages come with
 * their head.
 */
const freshMs = 10;

/**
 * Builds the gate over the functions that verify credentials, and over what domains demand of callers beyond the
 * contract.
 */
export function createGate(
  authenticators: Authenticators,
  rates: Rates,
  demands: ReadonlyMap<DescMethod, Demand> = new Map(),
): Gate {
  function authenticate(policy: Policy, call: Call): void | Promise<void> {
    if (policy.credential === Credential.PUBLISHER_SIGNATURE) demandSignature(call);
    if (takesCredential(policy)) return verify(policy, call);
    if (policy.bearerOptional && call.header("authorization") !== undefined) return verifyIfValid(policy, call);
    return rates.general(policy, call);
  }

  async function verifyIfValid(policy: Policy, call: Call): Promise<void> {
    await identifyIfValid(call);
    await rates.general(policy, call);
  }

  /** A bearer that is not right counts as none. */
  async function identifyIfValid(call: Call): Promise<void> {
    call.caller = undefined;
    try {
      call.caller = await authenticators.bearer(bearerToken(call.header("authorization")), call.info);
      call.identifiedAt = performance.now();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status !== 401) throw error;
    }
  }

  async function identifyAgain(policy: Policy, call: Call): Promise<void> {
    if (takesCredential(policy)) call.caller = await identify(policy, call);
    else await identifyIfValid(call);
    if (call.admitted) checkPowers(policy, call);
  }

  /** Asks the domain about a caller whose message has not been read yet. */
  async function hear(call: Call, demand: Demand): Promise<void> {
    call.heard = true;
    try {
      await demand(call.caller);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      call.objection = error;
    }
  }

  /** Last of what is judged of the caller. */
  function checkDemand(policy: Policy, call: Call): void | Promise<void> {
    if (call.objection !== undefined) throw call.objection;
    return call.heard ? undefined : demands.get(policy.method)?.(call.caller);
  }

  function identify(policy: Policy, call: Call): Promise<Caller> {
    const token = bearerToken(call.request.headers.authorization);
    return policy.credential === Credential.SCIM
      ? authenticators.scim(token, call.info)
      : authenticators.bearer(token, call.info);
  }

  async function verify(policy: Policy, call: Call, params?: Params): Promise<void> {
    call.caller = await identify(policy, call);
    call.identifiedAt = performance.now();
    if (policy.appAdminSuffices && !call.caller.isAdmin) call.anyAppAdmin = authenticators.anyAppAdmin(call.caller);
    const counted = rates.general(policy, call);
    if (counted !== undefined) await counted;
    if (params === undefined) return;
    const admitted = admit(policy, call, params);
    if (admitted !== undefined) await admitted;
  }

  function enter(policy: Policy, call: Call, params: Params): void | Promise<void> {
    if (takesCredential(policy)) return verify(policy, call, params);
    const counted = authenticate(policy, call);
    return counted === undefined ? admit(policy, call, params) : counted.then(() => admit(policy, call, params));
  }

  function admit(policy: Policy, call: Call, params: Params): void | Promise<void> {
    call.admitted = true;
    if (call.badDevice)
      throw errors.validation({ fields: [{ field: "X-Device-Uuid", code: "format", message: "must be a UUID" }] });
    if (policy.pathFields.length > 0) checkPath(policy, params);
    if (policy.self !== undefined) call.namesSelf = namesCaller(call.caller, params[policy.self.name]);
    if (policy.tenant === undefined && policy.app === undefined) return checkRights(policy, call);
    call.tenantPending =
      (policy.tenant !== undefined && params[policy.tenant.name] === undefined) ||
      (policy.app !== undefined && params[policy.app.name] === undefined);
    const tenant = admitTenant(policy, call, params);
    return tenant === undefined ? checkRights(policy, call) : tenant.then(() => checkRights(policy, call));
  }

  function checkRights(policy: Policy, call: Call): void | Promise<void> {
    checkPowers(policy, call);
    return checkDemand(policy, call);
  }

  function admitTenant(policy: Policy, call: Call, params: Params): void | Promise<void> {
    const { caller } = call;
    if (caller === undefined) return undefined;
    if (policy.tenant !== undefined) checkTenant(policy, caller, params[policy.tenant.name]);
    const appId = policy.app === undefined ? undefined : params[policy.app.name];
    if (appId === undefined) return undefined;
    return authenticators.appAdmin(caller, appId).then((is) => {
      if (is === undefined) throw gateErrors.appNotFound();
      if (is === "own") throw errors.forbidden({ message: "This needs an administrator of the app." });
    });
  }

  return {
    authenticate(policy, call) {
      const authenticated = authenticate(policy, call);
      const demand = demands.get(policy.method);
      if (demand === undefined) return authenticated;
      return authenticated === undefined ? hear(call, demand) : authenticated.then(() => hear(call, demand));
    },
    enter,
    admit,
    admitTenant,
    renew(policy, call) {
      if (call.caller === undefined || performance.now() - call.identifiedAt <= freshMs) return undefined;
      return identifyAgain(policy, call);
    },
    recheck: async (policy, call) => {
      if (policy.credential === Credential.BEARER)
        await authenticators.holds(bearerToken(call.request.headers.authorization));
      else if (takesCredential(policy)) await identify(policy, call);
    },
    refusal: (policy, call) => {
      try {
        checkPowers(policy, call);
        return call.objection;
      } catch (error) {
        return error as ServiceError;
      }
    },
  };
}

/** Whether callers of an rpc are always authenticated. */
export function takesCredential({ credential }: Policy): boolean {
  return credential === Credential.BEARER || credential === Credential.SCIM;
}

/** A signature is judged with the body, but where there is none nothing else is. */
function demandSignature(call: Call): void {
  if (signatureHeaders.every((name) => call.header(name) === undefined)) throw new ServiceError(badSignature);
}

/**
 * The credential of `Authorization: Bearer`; anything else is 401. What the token may look like is for those who verify
 * it.
 */
function bearerToken(header: string | undefined): string {
  if (header === undefined || header.length < 8 || header.slice(0, 7).toLowerCase() !== "bearer ")
    throw errors.unauthorized();
  const token = header.slice(7).trim();
  if (token === "" || token.includes(" ")) throw errors.unauthorized();
  return token;
}

function checkPath(policy: Policy, params: Params): void {
  let uuid = false;
  let found: FieldViolation[] | undefined;
  for (const field of policy.pathFields) {
    const value = params[field.name];
    if (value === undefined || (value === "" && !field.always)) continue;
    const fault = value === "" ? { code: "required", message: "is required" } : field.check?.(value);
    if (fault === undefined) continue;
    (found ??= []).push({ field: field.name, ...fault });
    uuid ||= field.uuid;
  }
  if (found === undefined) return;
  // An id that names nothing has no secret a signature could be made with.
  if (policy.credential === Credential.PUBLISHER_SIGNATURE) throw new ServiceError(badSignature);
  throw uuid ? errors.invalidUuid({ fields: found }) : errors.validation({ fields: found });
}

/** Powers that reach over organizations; an rpc that demands one is not bound to the caller's own. */
const wide: ReadonlySet<Power> = new Set([Power.PLATFORM_ADMIN, Power.SUPERUSER, Power.OPERATOR]);

function checkTenant(policy: Policy, caller: Caller, sent: string | undefined): void {
  if (sent === undefined || sent === "" || policy.powers.some((power) => wide.has(power))) return;
  if (policy.foreignTenant !== undefined && holds(caller, policy.foreignTenant)) return;
  if (caller.orgUuid !== null && sent.toLowerCase() === caller.orgUuid.toLowerCase()) return;
  // Outside the path, what is no UUID names nobody and is a wrong field like any other, refused with them.
  if (!isUuid(sent) && !policy.pathFields.some(({ name }) => name === policy.tenant?.name)) return;
  throw new ServiceError(policy.tenantRow);
}

/** What a caller is told who lacks a power. */
const NEEDED: Readonly<Record<Power, string | undefined>> = {
  [Power.UNSPECIFIED]: undefined,
  [Power.ADMIN]: "This needs the power admin: ask an owner or admin of the organization.",
  [Power.OWNER]: "This needs the power owner: ask an owner of the organization.",
  [Power.APP_ADMIN]: "This needs the power app_admin of the app.",
  [Power.PLATFORM_ADMIN]: "This needs the power platform_admin.",
  [Power.SUPERUSER]: "This needs the power superuser.",
  [Power.OPERATOR]: "This needs the power operator.",
  [Power.VAULT_WRITE]: "This needs the power vault:write: a role with that permission.",
  [Power.EMPLOYEE]: "This needs at least the role employee.",
};

/** 403s: kind of principal, organization, scopes, powers, then elevation. */
function checkPowers(policy: Policy, { caller, anyAppAdmin, namesSelf }: Call): void {
  if (caller === undefined || policy.credential === Credential.PUBLIC) return;
  if (policy.personOnly && caller.principal.type !== "user")
    throw errors.forbidden({ message: "This needs a person's own access token." });
  if (caller.orgUuid === null && !policy.withoutOrg)
    throw errors.forbidden({ message: "This token names no organization; sign in to one." });
  if (policy.scope !== "" && caller.scopes !== null && !inScope(policy, caller.scopes)) {
    throw errors.forbidden({ message: `This credential lacks the scope ${policy.scope}.` });
  }
  for (const power of policy.powers) {
    if (holds(caller, power) || ((anyAppAdmin || namesSelf) && power === Power.ADMIN)) continue;
    throw errors.forbidden({ message: NEEDED[power] });
  }
  if (policy.elevated && !caller.elevated) throw errors.stepUpRequired();
}

/** Whether a person names themselves; a key is nobody, whoever made it. */
function namesCaller(caller: Caller | undefined, userUuid: string | undefined): boolean {
  return caller !== undefined && caller.userUuid !== null && userUuid?.toLowerCase() === caller.userUuid;
}

function inScope(policy: Policy, scopes: ReadonlySet<string>): boolean {
  return (
    scopes.has(policy.scope) ||
    scopes.has("admin") ||
    (scopes.has("vault:write") && policy.powers.includes(Power.VAULT_WRITE))
  );
}

function holds(caller: Caller, power: Power): boolean {
  switch (power) {
    case Power.ADMIN:
      return caller.isAdmin;
    case Power.OWNER:
      return caller.isOwner;
    case Power.PLATFORM_ADMIN:
      return caller.isPlatformAdmin;
    case Power.SUPERUSER:
      return caller.isSuperuser;
    case Power.OPERATOR:
      return caller.isOperator;
    case Power.VAULT_WRITE:
      return caller.canWriteVault;
    case Power.EMPLOYEE:
      return caller.roles.some((role) => role !== "observer" && role !== "limited_access");
    case Power.APP_ADMIN:
      return true; // judged with the tenant: the answer is 404
    default:
      return false;
  }
}
