import { errorEntries, ERROR_CODES } from "../../../src/platform/error-codes/index.ts";
import type { ErrorCode } from "../../../src/platform/error-codes/index.ts";
import { refTo } from "./json-schema.ts";
import type { Schema } from "./json-schema.ts";

/** The error object of REST (decisions 1.3). */
export const ERROR_SCHEMA: Schema = {
  type: "object",
  description: "An error: a Connect error and an RFC 9457 problem in one object.",
  properties: {
    code: { type: "string", description: "Stable code for programs; see docs/errors.md." },
    message: { type: "string", description: "What was wrong and what to do, for people." },
    type: { type: "string", description: "`urn:atrium:error:` and the code." },
    title: { type: "string", description: "Name of the status." },
    status: { type: "integer", description: "The HTTP status." },
    detail: { type: "string", description: "The same as message." },
    instance: { type: "string", description: "Path of the request." },
    request_id: { type: "string", description: "Id of the request, also in the log." },
    errors: {
      type: "array",
      description: "Fields that break a rule, for validation errors.",
      items: {
        type: "object",
        properties: { field: { type: "string" }, code: { type: "string" }, message: { type: "string" } },
        required: ["field", "code", "message"],
      },
    },
  },
  required: ["code", "message", "type", "title", "status", "detail", "instance", "request_id"],
};

/** The error object of SCIM (RFC 7644 §3.12) with the code beside it (decisions 8.6). */
export const SCIM_ERROR_SCHEMA: Schema = {
  type: "object",
  description: "An error of SCIM (RFC 7644 §3.12).",
  properties: {
    schemas: { type: "array", items: { type: "string" } },
    status: { type: "string", description: "The HTTP status." },
    scimType: { type: "string", description: "Detail keyword of RFC 7644." },
    detail: { type: "string", description: "What was wrong and what to do, for people." },
    code: { type: "string", description: "Stable code for programs; see docs/errors.md." },
  },
  required: ["schemas", "status"],
};

/** One example for each code, by code. */
export function errorExamples(): Readonly<Record<string, Schema>> {
  const codes = Object.keys(ERROR_CODES).sort() as ErrorCode[];
  return Object.fromEntries(codes.map((code) => [code, exampleOf(code)]));
}

/** What the service prints for a code: the same body for the documents and for the reference. */
function exampleOf(code: ErrorCode): Schema {
  const { status, meaning } = ERROR_CODES[code];
  return {
    summary: meaning,
    value: {
      code,
      message: meaning,
      type: `urn:atrium:error:${code}`,
      title: TITLES[status[0]] ?? "Error",
      status: status[0],
      detail: meaning,
      instance: "/api/auth/me",
      request_id: "582e12a1-1913-4885-a4d3-000000000006",
    },
  };
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
};

/** Collects the error responses, which many operations share. */
export class ErrorResponses {
  readonly #components = new Map<string, Schema>();

  components(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** References by status to the responses for these codes. */
  of(codes: readonly ErrorCode[], scim: boolean): Readonly<Record<string, Schema>> {
    const byStatus = new Map<number, ErrorCode[]>();
    for (const code of codes) {
      const [status] = ERROR_CODES[code].status;
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
    return Object.fromEntries(
      [...byStatus].map(([status, some]) => [String(status), this.#response(status, some, scim)]),
    );
  }

  #response(status: number, codes: readonly ErrorCode[], scim: boolean): Schema {
    const name = `${scim ? "scim." : ""}${status}.${codes.join(".")}`;
    this.#components.set(name, scim ? scimResponse(codes) : response(status, codes));
    return refTo("responses", name);
  }
}

const describe = (codes: readonly ErrorCode[]): string =>
  codes.map((code) => `\`${code}\`: ${errorEntries.get(code)?.meaning ?? ""}`).join("\n\n");

const headersOf = (status: number): Schema => ({
  ...((status === 429 || status === 503) && {
    headers: { "Retry-After": { description: "Seconds until a retry is useful.", schema: { type: "string" } } },
  }),
  ...(status === 401 && {
    headers: { "WWW-Authenticate": { description: "The challenge.", schema: { type: "string" } } },
  }),
});

function response(status: number, codes: readonly ErrorCode[]): Schema {
  const schema = { allOf: [refTo("schemas", "Error"), { properties: { code: { enum: codes } } }] };
  const examples = Object.fromEntries(codes.map((code) => [code, refTo("examples", code)]));
  return {
    description: describe(codes),
    ...headersOf(status),
    content: { "application/json": { schema, examples }, "application/problem+json": { schema } },
  };
}

function scimResponse(codes: readonly ErrorCode[]): Schema {
  const schema = { allOf: [refTo("schemas", "ScimError"), { properties: { code: { enum: codes } } }] };
  return { description: describe(codes), content: { "application/scim+json": { schema } } };
}
