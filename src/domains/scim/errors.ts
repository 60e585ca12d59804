import { ServiceError } from "../../platform/errors.ts";
import type { ErrorRow } from "../../platform/errors.ts";

/** Makes errors of one row and detail keyword (RFC 7644 §3.12); `message` replaces the row's. */
function refusal(row: ErrorRow, scimType?: string): (message?: string) => ServiceError {
  return (message) => new ServiceError(row, { message, scimType });
}

const invalid = (message: string): ErrorRow => [400, "validation_error", message];

/** Errors of SCIM (decisions 8.6). */
export const scimErrors = {
  invalidFilter: refusal(invalid("The filter cannot be read."), "invalidFilter"),
  invalidPath: refusal(invalid("The path cannot be read, or names no attribute."), "invalidPath"),
  invalidSyntax: refusal(invalid("The body has not the structure of this request."), "invalidSyntax"),
  invalidValue: refusal(invalid("A value is missing, or not one of this attribute."), "invalidValue"),
  noTarget: refusal(invalid("The path matches nothing that could be changed."), "noTarget"),
  mutability: refusal(invalid("The attribute cannot be changed like this."), "mutability"),
  invalidCursor: refusal(invalid("The cursor is not one of this list; start again without one."), "invalidCursor"),
  expiredCursor: refusal(invalid("The cursor has expired; start again without one."), "expiredCursor"),
  invalidCount: refusal(invalid("count must be from 1 to 200 with a cursor."), "invalidCount"),
  filteredDiscovery: refusal([403, "forbidden", "Schemas and resource types cannot be filtered; leave filter out."]),
  notFound: refusal([404, "not_found", "There is no such resource."]),
  uniqueness: refusal([409, "conflict", "The value is in use.", "duplicate"], "uniqueness"),
  ownerStays: refusal(
    [409, "conflict", "An owner cannot be deactivated or removed by SCIM; end the ownership first."],
    "mutability",
  ),
  preconditionFailed: refusal([412, "precondition_failed", "The resource has changed; read it again."]),
  tooMany: refusal([413, "payload_too_large", "The request has more operations than one request may have."], "tooMany"),
  unresolved: refusal([409, "conflict", "A bulkId cannot be resolved."], "invalidValue"),
};
