import { defineErrors } from "../../platform/errors.ts";

/** Errors of service identities (interface, Errors). */
export const identityErrors = defineErrors({
  notFound: [404, "not_found", "No such service identity."],
  tokenNotFound: [404, "not_found", "No such automation token."],
  invalidRole: [400, "invalid_role", "The organization has no role of this role_id; see GET /api/roles."],
  nameTaken: [409, "name_taken", "A service identity of the organization has this name; choose another.", "duplicate"],
  beyondPower: [403, "forbidden", "Nobody gives a service identity more than their own power."],
});
