import { defineErrors } from "../../platform/errors.ts";

/** Errors of API keys and SCIM tokens (interface, Errors). */
export const credentialErrors = defineErrors({
  keyNotFound: [404, "not_found", "No such API key."],
  tokenNotFound: [404, "not_found", "No such SCIM token."],
  beyondPower: [403, "forbidden", "A key cannot have a scope its maker does not have."],
  tooManyKeys: [409, "conflict", "The organization has 1,000 live API keys; revoke one first."],
  tooManyTokens: [409, "conflict", "The organization has 5 living SCIM tokens; revoke one first."],
});
