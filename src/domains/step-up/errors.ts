import { defineErrors } from "../../platform/errors.ts";

/** Errors of step-up. */
export const stepUpErrors = defineErrors({
  invalidCode: [400, "invalid_code", "The answer to the challenge is wrong."],
  expired: [400, "expired_challenge", "The challenge has expired; ask for another."],
  notFound: [404, "not_found", "No such challenge of this session."],
  gone: [
    410,
    "challenge_gone",
    "The challenge has been answered already, or a newer one has replaced it; ask for another.",
  ],
});
