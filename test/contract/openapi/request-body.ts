import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import type { Policy } from "../../../src/server/policy.ts";
import type { Schema } from "./json-schema.ts";
import { isRequired } from "./rules.ts";
import type { Schemas } from "./schemas.ts";

const BINARY: Schema = { type: "string", format: "binary" };

/** The body of a binding; undefined where it takes none. */
export function requestBody(
  policy: Policy,
  rule: HttpRule,
  pathNames: readonly string[],
  schemas: Schemas,
): Schema | undefined {
  if (rule.body === "") return undefined;
  const { input } = policy.method;
  const consumes = policy.rest?.consumes ?? [];
  const types = consumes.length === 0 ? ["application/json"] : consumes;
  const body = rule.body === "*" ? wholeBody(input, pathNames, schemas) : fieldBody(input, rule.body, schemas);
  // Generators of clients make one type of each inline schema, and refuse two of the same name.
  const isInline = types.length > 1 && body["$ref"] === undefined;
  const schema = isInline
    ? schemas.named(`${policy.method.parent.name.replace(/Service$/u, "")}${policy.method.name}Body`, body)
    : body;
  return {
    required: policy.rest?.optionalBody !== true,
    content: Object.fromEntries(types.map((type) => [type, { schema }])),
  };
}

function wholeBody(input: DescMessage, pathNames: readonly string[], schemas: Schemas): Schema {
  if (input.typeName === "google.api.HttpBody") return BINARY;
  const inBody = (field: DescField): boolean => !pathNames.includes(field.name);
  return input.fields.every(inBody)
    ? schemas.message(input, "input")
    : schemas.object(input.fields.filter(inBody), "input");
}

function fieldBody(input: DescMessage, name: string, schemas: Schemas): Schema {
  const field = input.fields.find((one) => one.name === name);
  if (field === undefined) throw new Error(`${input.typeName} has no field ${name}`);
  if (field.message?.typeName === "google.api.HttpBody") return BINARY;
  const { description: _, ...schema } = schemas.field(field, "input");
  return isRequired(field) && schema["type"] === "object" ? { ...schema, minProperties: 1 } : schema;
}
