import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import type { Policy } from "../../../src/server/policy.ts";
import type { Schema } from "./json-schema.ts";
import type { Schemas } from "./schemas.ts";

/** The response of success, by its status, and 304 where the client can have it already. */
export function successOf(policy: Policy, rule: HttpRule, schemas: Schemas): Readonly<Record<string, Schema>> {
  const declared = policy.rest?.status ?? 0;
  const status = declared === 0 ? 200 : declared;
  const content = status === 204 || (status >= 300 && status < 400) ? undefined : contentOf(policy, rule, schemas);
  return {
    [String(status)]: { description: nameOf(status), ...(content !== undefined && { content }) },
    ...(policy.rest?.etag === true && {
      "304": { description: "The client has the present version; there is no body." },
    }),
  };
}

function nameOf(status: number): string {
  const names: Readonly<Record<number, string>> = {
    200: "Success.",
    201: "Created.",
    202: "Accepted; it is done in the background.",
    204: "Done; there is no body.",
    302: "Redirect; see Location.",
  };
  return names[status] ?? "Success.";
}

function contentOf(policy: Policy, rule: HttpRule, schemas: Schemas): Schema {
  const { method, rest } = policy;
  const raw = method.output.typeName === "google.api.HttpBody";
  const streams = method.methodKind === "server_streaming";
  const schema = raw ? { type: "string" } : bodySchema(policy, rule, schemas);
  const main = rest?.mediaType || (streams ? "application/x-ndjson" : raw ? "*/*" : "application/json");
  return {
    [main]: streams && !raw ? lines(schema) : { schema: binaryOr(main, schema, raw) },
    ...Object.fromEntries(
      [...(rest?.alternatives ?? []), ...(rest?.byRequest ?? [])].map((type) => [
        type,
        { schema: { type: "string", format: "binary" } },
      ]),
    ),
  };
}

function bodySchema({ method }: Policy, rule: HttpRule, schemas: Schemas): Schema {
  const field = method.output.fields.find(({ name }) => name === rule.responseBody);
  return field === undefined ? schemas.message(method.output, "output") : schemas.field(field, "output");
}

/** What is no JSON is text or bytes; what a handler prints itself, as JSON or as any type, has any form. */
function binaryOr(type: string, schema: Schema, raw: boolean): Schema {
  if (!raw) return schema;
  if (type.endsWith("json") || type === "*/*") return {};
  return type.startsWith("text/") ? { type: "string" } : { type: "string", format: "binary" };
}

/** One JSON document a line; OpenAPI 3.1 has no member for the schema of a line. */
function lines(item: Schema): Schema {
  return { schema: { type: "string", description: "One JSON document a line." }, "x-atrium-line": item };
}
