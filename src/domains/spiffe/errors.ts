import { defineErrors } from "../../platform/errors.ts";

/** Errors of SPIFFE workload identity. */
export const spiffeErrors = defineErrors({
  orgNotFound: [404, "not_found", "No such organization."],
  svidNotFound: [404, "not_found", "No such SVID."],
  idNotGranted: [
    403,
    "forbidden",
    "A service identity obtains its own SPIFFE id, or one that an SVID issued to it by an administrator has now.",
  ],
  alreadyRevoked: [409, "already_revoked", "The SVID is revoked already."],
});
