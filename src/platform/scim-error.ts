import type { ServiceError } from "./errors.ts";

/** The error object of RFC 7644 §3.12, with our own code beside it (decisions 8.6). */
export function scimErrorBody(error: ServiceError): { [name: string]: string | string[] } {
  const type = scimType(error);
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(error.status),
    ...(type === undefined ? {} : { scimType: type }),
    detail: error.message,
    code: error.code,
  };
}

function scimType(error: ServiceError): string | undefined {
  if (error.scimType !== undefined) return error.scimType;
  if (error.code === "bad_request") return "invalidSyntax";
  return error.status === 400 ? "invalidValue" : undefined;
}
