import { defineErrors } from "../../platform/errors.ts";

/** Errors of the audit log. */
export const auditErrors = defineErrors({
  invalidType: [400, "invalid_type", "type is not an event type of this log."],
  invalidDateRange: [400, "invalid_date_range", "from and to must be ISO 8601 times, from not after to."],
  notFound: [404, "not_found", "No such event, organization or user."],
});
