import { defineErrors } from "../../platform/errors.ts";

/** Errors of profiles and organizations. */
export const userErrors = defineErrors({
  invalidPhone: [400, "invalid_phone", "phone must be an E.164 number such as +4915112345678."],
  userNotFound: [404, "user_not_found", "The organization has no such member."],
  foreignPlanOnly: [403, "forbidden", "Of another organization a platform administrator changes the plan alone."],
  planForPlatform: [403, "forbidden", "A plan is set by platform administrators."],
  ownersOnly: [403, "forbidden", "Whether single sign-on is required is for owners to change."],
  invalidPlan: [400, "invalid_plan", "There is no such plan."],
});
