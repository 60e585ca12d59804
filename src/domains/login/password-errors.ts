import { defineErrors } from "../../platform/errors.ts";

/** Errors of changing and resetting passwords. */
export const passwordErrors = defineErrors({
  resetExpired: [400, "reset_expired", "The link has expired or was used before; ask for a new one."],
  invalidPassword: [
    400,
    "invalid_password",
    "The present password is wrong; whoever has none, or forgot it, resets it by mail.",
  ],
});
