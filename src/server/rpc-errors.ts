import { Credential, SessionCookie } from "../../gen/atrium/options/v1/options_pb.ts";
import type { ErrorCode } from "../platform/error-codes/index.ts";
import type { Policy } from "./policy.ts";

/** What any rpc may end with, whatever it does, because of the protocol alone; the documents name these once. */
export const PROTOCOL_CODES: readonly ErrorCode[] = ["canceled", "method_not_allowed", "unimplemented"];

const EVERY_RPC: readonly ErrorCode[] = [
  "bad_request",
  "deadline_exceeded",
  "payload_too_large",
  "rate_limited",
  "unavailable",
  "unsupported_media_type",
];

/** Services with a code of their own for internal errors (interface, Errors: Credentials, SCIM). */
const OWN_INTERNAL: ReadonlySet<string> = new Set([
  "atrium.credentials.v1.CredentialsService",
  "atrium.scim.v1.ScimService",
]);

/** The code of an internal error of a service. */
export function internalCodeOf(policy: Policy | undefined): "internal" | "internal_error" {
  return policy !== undefined && OWN_INTERNAL.has(policy.method.parent.typeName) ? "internal_error" : "internal";
}

/**
 * Every code that an rpc may refuse with, sorted: what its options imply, and what it names itself. The codes of
 * {@link PROTOCOL_CODES} are left out.
 */
export function errorCodesOf(policy: Policy): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([...EVERY_RPC, internalCodeOf(policy), ...policy.errors]);
  // Without fields too: any member of a body is one too many.
  if (!policy.scim) codes.add("validation_error");
  if (policy.method.input.fields.length > 0) codes.add("validation_error").add(policy.invalidRow[1]);
  if (!policy.scim && policy.method.input.fields.some(({ name }) => name === "cursor")) codes.add("invalid_cursor");
  if (policy.pathFields.some(({ uuid }) => uuid)) codes.add("invalid_uuid");
  if ((policy.rest?.alternatives.length ?? 0) > 0) codes.add("not_acceptable");
  if (policy.credential !== Credential.PUBLIC && policy.credential !== Credential.PROVIDER_SIGNATURE)
    codes.add("unauthorized");
  // Cookie mode is refused to pages of another origin.
  if (policy.credential === Credential.BEARER || policy.sessionCookie !== SessionCookie.UNSPECIFIED)
    codes.add("forbidden");
  if (policy.elevated) codes.add("step_up_required");
  if (policy.tenant !== undefined) codes.add(policy.tenantRow[1]);
  if (policy.app !== undefined) codes.add("app_not_found");
  if (policy.idempotent) codes.add("conflict").add("idempotency_mismatch");
  return [...codes].sort();
}
