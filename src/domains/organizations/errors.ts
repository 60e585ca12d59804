import { defineErrors } from "../../platform/errors.ts";

/** Errors of organizations. */
export const organizationErrors = defineErrors({
  nameTaken: [409, "conflict", "An organization has or had this name; choose another.", "duplicate"],
  notFound: [404, "not_found", "No such organization."],
});
