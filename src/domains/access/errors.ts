import { defineErrors } from "../../platform/errors.ts";

/** Errors of roles and permissions. */
export const accessErrors = defineErrors({
  roleNotFound: [404, "role_not_found", "The organization has no such role."],
});
