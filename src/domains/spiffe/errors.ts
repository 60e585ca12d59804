import { defineErrors } from "../../platform/errors.ts";

/** Errors of SPIFFE workload identity. */
export const spiffeErrors = defineErrors({
  orgNotFound: [404, "not_found", "No such organization."],
});
