import { defineErrors } from "../../platform/errors.ts";

/** Errors of sign-in and of changing passwords. */
export const loginErrors = defineErrors({
  resetExpired: [400, "reset_expired", "The link has expired or was used before; ask for a new one."],
  invalidPassword: [
    400,
    "invalid_password",
    "The present password is wrong; whoever has none, or forgot it, resets it by mail.",
  ],
  emailTaken: [
    409,
    "email_taken",
    "Somebody has an account with this email. Accept with its present password, or sign in " +
      "(a magic link to this email works) and accept with your token.",
  ],
});
