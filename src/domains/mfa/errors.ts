import { defineErrors } from "../../platform/errors.ts";

/** Errors of second factors, and of attempts that count as failures. */
export const mfaErrors = defineErrors({
  wrongCode: [401, "unauthorized", "The code is wrong, expired or used; take the one the authenticator shows now."],
  wrongRecoveryCode: [401, "unauthorized", "The recovery code is wrong, used or replaced; take another one."],
  badToken: [401, "unauthorized", "The mfa_token is not valid, has expired or is used up; sign in again."],
  noFactor: [404, "not_found", "No such factor of yours."],
  notPending: [404, "not_found", "No such factor of yours that waits for its first code."],
  tooManyFactors: [422, "unprocessable", "You have as many factors as one may have; delete one first."],
  noActiveFactor: [409, "conflict", "Recovery codes need an active factor; verify one first."],
  proofRequired: [
    403,
    "step_up_required",
    "Changing factors needs a recent proof of the second factor; step up with a code of it or sign in again.",
  ],
  freshSignInRequired: [
    403,
    "step_up_required",
    "A first factor needs a recent sign-in; sign in again or step up, and try again.",
  ],
  ownProofRequired: [
    403,
    "step_up_required",
    "Single sign-on proves who you are to its organization alone, and you belong to others; step up, and try again.",
  ],
  elsewhere: [403, "forbidden", "The person belongs to another organization too; only they can change their factors."],
  ownersOnly: [403, "forbidden", "The factors of an owner are removed by owners only."],
  tooManyAttempts: [429, "too_many_attempts", "Too many wrong answers; wait and try again."],
});
