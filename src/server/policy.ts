import type { DescField, DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import {
  access as accessOption,
  Credential,
  errors as errorsOption,
  Format,
  Power,
  rest as restOption,
} from "../../gen/atrium/options/v1/options_pb.ts";
import type { Rest, RateClass, SessionCookie } from "../../gen/atrium/options/v1/options_pb.ts";
import { errorCode } from "../platform/error-codes/index.ts";
import type { ErrorCode } from "../platform/error-codes/index.ts";
import { errorRow } from "../platform/errors.ts";
import type { ErrorRow } from "../platform/errors.ts";
import { compileForm } from "../platform/json-form.ts";
import type { FormCheck } from "../platform/json-form.ts";
import { compileUuidCase } from "../platform/uuid-case.ts";
import type { UuidCase } from "../platform/uuid-case.ts";
import { compilePresence, compileText, compileValidator, rulesOf } from "../platform/validation.ts";
import type { Validator } from "../platform/validation.ts";
import type { ValueCheck } from "../platform/value-rules.ts";

/** A field that some binding takes from the path. */
export interface PathField {
  /** Proto name, as the transcoder names path parameters. */
  name: string;
  localName: string;
  /** Every binding has it in the path, so it is never empty. */
  always: boolean;
  uuid: boolean;
  check: ValueCheck | undefined;
}

/** The rules of the contract for one rpc, compiled from its options. */
export interface Policy {
  readonly method: DescMethod;
  /** `/atrium.login.v1.LoginService/Login` */
  readonly path: string;
  /** `path` without the slash, for logs and metrics. */
  readonly rpc: string;
  readonly credential: Credential;
  readonly powers: readonly Power[];
  readonly elevated: boolean;
  readonly personOnly: boolean;
  readonly withoutOrg: boolean;
  /** A public rpc that accepts a valid bearer token. */
  readonly bearerOptional: boolean;
  readonly idempotent: boolean;
  readonly noStore: boolean;
  /** `read:users` or `write:users`; empty when no scope is needed. */
  readonly scope: string;
  /** Field of the request that names the organization; undefined when none does. */
  readonly tenant: DescField | undefined;
  /** Error for an organization that is not the caller's. */
  readonly tenantRow: ErrorRow;
  /** Power whose holders may name any organization; undefined when there is none. */
  readonly foreignTenant: Power | undefined;
  /** App administrators are accepted in place of POWER_ADMIN; the use case checks which resources are theirs. */
  readonly appAdminSuffices: boolean;
  /** Field that names a person; a person who names themselves needs no POWER_ADMIN. */
  readonly self: DescField | undefined;
  /** A service identity may call for itself without scope, powers and elevation; the use case checks whom it names. */
  readonly ownIdentity: boolean;
  /** What the rpc does with the session cookie. */
  readonly sessionCookie: SessionCookie;
  /** Field that names the app, for rpcs of app administrators. */
  readonly app: DescField | undefined;
  readonly rate: RateClass;
  /** Error for a field of the body. */
  readonly invalidRow: ErrorRow;
  /** Codes that the contract names besides those that follow from the other members. */
  readonly errors: readonly ErrorCode[];
  readonly pathFields: readonly PathField[];
  /** Refuses text that no protocol may carry (decisions 1.8), whatever the field rules say. */
  readonly form: FormCheck | undefined;
  /** Gives the UUIDs of the message, in the path too, the one spelling that handlers know. */
  readonly uuidCase: UuidCase | undefined;
  /** Validates the message, except the path fields. */
  readonly validate: Validator | undefined;
  /** Validates that a message that was not JSON has the lists that must be there. */
  readonly presence: Validator | undefined;
  /** All bindings are GET: Connect GET is allowed, and keys need `read:`. */
  readonly safe: boolean;
  readonly scim: boolean;
  readonly rest: Rest | undefined;
}

/**
 * Compiles the policies of all rpcs.
 * @throws Error naming every rpc whose access declaration is missing or contradicts itself
 */
export function compilePolicies(services: readonly DescService[]): ReadonlyMap<DescMethod, Policy> {
  const policies = new Map<DescMethod, Policy>();
  const problems: string[] = [];
  for (const [at, service] of services.entries()) {
    if (services.indexOf(service) !== at) problems.push(`${service.typeName}: is registered twice`);
    for (const method of service.methods) {
      try {
        policies.set(method, compilePolicy(method));
      } catch (error) {
        problems.push(`${service.typeName}/${method.name}: ${(error as Error).message}`);
      }
    }
  }
  if (problems.length > 0) throw new Error(`The contract is incomplete:\n  ${problems.join("\n  ")}`);
  return policies;
}

function compilePolicy(method: DescMethod): Policy {
  const access = hasOption(method, accessOption) ? getOption(method, accessOption) : undefined;
  if (access === undefined || access.credential === Credential.UNSPECIFIED) throw new Error("declares no access");
  if (access.powers.length > 0 && access.credential !== Credential.BEARER)
    throw new Error("declares powers without a bearer");
  const rules = bindings(method);
  const safe = rules.length > 0 && rules.every((rule) => rule.pattern.case === "get");
  const pathFields = compilePath(method, rules);
  const rest = hasOption(method, restOption) ? getOption(method, restOption) : undefined;
  return {
    method,
    path: `/${method.parent.typeName}/${method.name}`,
    rpc: `${method.parent.typeName}/${method.name}`,
    credential: access.credential,
    powers: access.powers,
    elevated: access.elevated,
    personOnly: access.personOnly,
    withoutOrg: access.withoutOrg,
    bearerOptional: access.bearerOptional,
    idempotent: access.idempotent,
    noStore: rest?.noStore === true,
    scope: access.resource === "" ? "" : `${safe ? "read" : "write"}:${access.resource}`,
    tenant: access.tenant === "" ? undefined : fieldOf(method, access.tenant),
    tenantRow: errorRow(404, access.tenantCode || "not_found", "No such resource."),
    appAdminSuffices: access.appAdminSuffices,
    self: access.selfSuffices === "" ? undefined : fieldOf(method, access.selfSuffices),
    ownIdentity: access.ownIdentity,
    sessionCookie: access.sessionCookie,
    foreignTenant: access.foreignTenant === Power.UNSPECIFIED ? undefined : access.foreignTenant,
    app: access.powers.includes(Power.APP_ADMIN) ? fieldOf(method, "app_id") : undefined,
    rate: access.rate,
    invalidRow: errorRow(
      400,
      access.invalidCode || "validation_error",
      "The request has fields that are missing or wrong; see errors.",
    ),
    errors: getOption(method, errorsOption).codes.map(errorCode),
    pathFields,
    form: compileForm(method.input),
    uuidCase: compileUuidCase(method.input),
    validate: compileValidator(
      method.input,
      new Set(pathFields.filter((field) => field.always).map((field) => field.name)),
    ),
    presence: compilePresence(method.input),
    safe,
    scim: access.credential === Credential.SCIM,
    rest,
  };
}

/** Returns the bindings of an rpc in the order of their declaration. */
export function bindings(method: DescMethod): HttpRule[] {
  if (!hasOption(method, http)) return [];
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings];
}

function compilePath(method: DescMethod, rules: readonly HttpRule[]): PathField[] {
  const variables = rules.map(
    (rule) => new Set([...template(rule).matchAll(/\{([^}=]+)/g)].map((found) => found[1] as string)),
  );
  const names = new Set(variables.flatMap((set) => [...set]));
  return [...names]
    .filter((name) => !name.includes("."))
    .map((name) => {
      const field = fieldOf(method, name);
      return {
        name,
        localName: field.localName,
        always: variables.every((set) => set.has(name)),
        uuid: rulesOf(field)?.format === Format.UUID,
        check: compileText(field),
      };
    });
}

function template(rule: HttpRule): string {
  const { pattern } = rule;
  if (pattern.case === undefined) return "";
  return pattern.case === "custom" ? pattern.value.path : pattern.value;
}

function fieldOf(method: DescMethod, name: string): DescField {
  const field = method.input.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`its request has no field ${name}`);
  return field;
}

/** Whether every binding takes a field from the path. */
export function inEveryPath(policy: Policy, field: { readonly name: string } | undefined): boolean {
  return policy.pathFields.some(({ name, always }) => always && name === field?.name);
}

/** Returns a scalar field of a message as text; empty when it is not set. */
export function textOf(message: Message, localName: string): string {
  const value = (message as unknown as Record<string, unknown>)[localName];
  return typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? String(value) : "";
}
