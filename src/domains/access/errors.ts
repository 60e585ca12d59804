import { defineErrors } from "../../platform/errors.ts";

/** Errors of app access. */
export const accessErrors = defineErrors({
  appNotFound: [404, "app_not_found", "No such app."],
});
