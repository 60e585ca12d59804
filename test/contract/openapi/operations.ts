import type { DescEnum, DescField } from "@bufbuild/protobuf";
import {
  Credential,
  CredentialSchema,
  PowerSchema,
  RateClass,
  RateClassSchema,
} from "../../../gen/atrium/options/v1/options_pb.ts";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import { bindings } from "../../../src/server/policy.ts";
import type { Policy } from "../../../src/server/policy.ts";
import { errorCodesOf } from "../../../src/server/rpc-errors.ts";
import { printedName } from "../../../src/transcoding/json/names.ts";
import { commentOf, summaryOf } from "./comments.ts";
import type { ErrorResponses } from "./error-responses.ts";
import type { Schema } from "./json-schema.ts";
import { headersOf } from "./headers.ts";
import { isRequired } from "./rules.ts";
import type { Schemas } from "./schemas.ts";
import { requestBody } from "./request-body.ts";
import { successOf } from "./success.ts";

/** One operation of the document. */
export interface Operation {
  path: string;
  method: string;
  operation: Schema;
}

/** What operations refer to. */
export interface Components {
  schemas: Schemas;
  errors: ErrorResponses;
}

/** The operations of an rpc, one for each binding. */
export function operationsOf(policy: Policy, components: Components): Operation[] {
  return bindings(policy.method).map((rule, nth) => {
    const { pattern } = rule;
    if (pattern.case === undefined || pattern.case === "custom") throw new Error(`${policy.rpc}: has no verb`);
    const names = [...pattern.value.matchAll(/\{([^}=]+)(?:=[^}]*)?\}/gu)].map(([, name = ""]) => name);
    return {
      path: pattern.value.replaceAll(/\{([^}=]+)=[^}]*\}/gu, "{$1}"),
      method: pattern.case,
      operation: operationOf(policy, rule, nth, names, components),
    };
  });
}

function operationOf(
  policy: Policy,
  rule: HttpRule,
  nth: number,
  pathNames: readonly string[],
  components: Components,
): Schema {
  const { method } = policy;
  const comment = commentOf(method);
  const id = `${method.parent.name.replace(/Service$/u, "")}_${method.name}`;
  const parameters = parametersOf(policy, rule, pathNames, components.schemas);
  const body = requestBody(policy, rule, pathNames, components.schemas);
  return {
    operationId: nth === 0 ? id : `${id}_${nth + 1}`,
    tags: [tagOf(policy)],
    summary: summaryOf(comment),
    description: comment,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: body }),
    responses: {
      ...successOf(policy, rule, components.schemas),
      ...components.errors.of(errorCodesOf(policy), policy.scim),
    },
    security: securityOf(policy),
    "x-atrium-rpc": policy.rpc,
    ...extensionsOf(policy),
  };
}

/** The area: `signing_keys` of `atrium.signing_keys.v1`. */
export function tagOf({ method }: Policy): string {
  return method.parent.file.proto.package.split(".")[1] ?? "";
}

function parametersOf(policy: Policy, rule: HttpRule, pathNames: readonly string[], schemas: Schemas): Schema[] {
  const { fields } = policy.method.input;
  const inPath = fields.filter(({ name }) => pathNames.includes(name));
  const inQuery = rule.body === "*" ? [] : fields.filter((field) => mayBeQuery(field, rule, pathNames));
  return [
    ...inPath.map((field) => parameter(field, "path", true, schemas)),
    ...inQuery.map((field) => parameter(field, "query", isRequired(field), schemas)),
    ...headersOf(policy),
  ];
}

const SCALAR_MESSAGES = /^google\.protobuf\.(?:Timestamp|\w+Value)$/u;

function mayBeQuery(field: DescField, rule: HttpRule, pathNames: readonly string[]): boolean {
  if (pathNames.includes(field.name) || field.name === rule.body || field.fieldKind === "map") return false;
  return field.message === undefined || (field.fieldKind === "message" && SCALAR_MESSAGES.test(field.message.typeName));
}

function parameter(field: DescField, where: "path" | "query", required: boolean, schemas: Schemas): Schema {
  const { description, ...schema } = schemas.field(field, "input");
  const name = where === "path" ? field.name : printedName(field);
  return { name, in: where, required, ...(description !== undefined && { description }), schema };
}

function securityOf({ credential, bearerOptional }: Policy): Schema[] {
  switch (credential) {
    case Credential.BEARER:
      return [{ bearer: [] }, { mutualTls: [] }];
    case Credential.SCIM:
      return [{ scimToken: [] }];
    case Credential.PUBLISHER_SIGNATURE:
      return [{ publisherSignature: [] }];
    case Credential.PROVIDER_SIGNATURE:
      return [{ providerSignature: [] }];
    default:
      return bearerOptional ? [{}, { bearer: [] }] : [];
  }
}

/** What OpenAPI has no member for. */
function extensionsOf(policy: Policy): Schema {
  const { powers, scope, rate, credential } = policy;
  return {
    "x-atrium-credential": word(CredentialSchema, credential),
    "x-atrium-powers": powers.map((power) => word(PowerSchema, power)),
    "x-atrium-elevated": policy.elevated,
    "x-atrium-scope": scope === "" ? null : scope,
    "x-atrium-rate": rate === RateClass.UNSPECIFIED ? "general" : word(RateClassSchema, rate),
    "x-atrium-errors": errorCodesOf(policy),
    ...(policy.personOnly && { "x-atrium-person-only": true }),
    ...(policy.idempotent && { "x-atrium-idempotent": true }),
  };
}

/** `POWER_PLATFORM_ADMIN` is `platform_admin`. */
function word(desc: DescEnum, number: number): string {
  const name = desc.value[number]?.name ?? "";
  return name.slice(desc.sharedPrefix?.length ?? 0).toLowerCase();
}
