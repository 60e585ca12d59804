import { defineErrors } from "../../platform/errors.ts";

/** Errors of signing keys. */
export const keyErrors = defineErrors({
  orgNotFound: [404, "not_found", "No such organization."],
});
