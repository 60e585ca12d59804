import { defineErrors } from "../../platform/errors.ts";

/** Errors of SPIFFE workload identity. */
export const spiffeErrors = defineErrors({
  orgNotFound: [404, "not_found", "No such organization."],
  svidNotFound: [404, "not_found", "No such SVID."],
  alreadyRevoked: [409, "already_revoked", "The SVID is revoked already."],
});
