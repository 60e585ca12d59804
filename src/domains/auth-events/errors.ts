import { defineErrors } from "../../platform/errors.ts";

/** Errors of the audit log. */
export const auditErrors = defineErrors({
  invalidType: [400, "invalid_type", "type is not an event type of this log."],
  invalidDateRange: [400, "invalid_date_range", "from and to must be ISO 8601 times, from not after to."],
  brokenChain: [
    409,
    "conflict",
    "The hash chain of the log does not verify, so nothing is removed from it; see audit-events/verify.",
  ],
  notFound: [404, "not_found", "No such event, organization or user."],
});
