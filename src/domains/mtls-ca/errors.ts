import { defineErrors } from "../../platform/errors.ts";

/** Errors of certificate authorities. */
export const mtlsCaErrors = defineErrors({
  notFound: [404, "not_found", "The organization has no certificate authority."],
  exists: [409, "conflict", "The organization has a certificate authority; delete it first.", "duplicate"],
  certificateNotFound: [404, "not_found", "No such certificate."],
  alreadyRevoked: [409, "already_revoked", "The certificate is revoked already."],
});
