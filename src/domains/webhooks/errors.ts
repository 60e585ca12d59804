import { defineErrors } from "../../platform/errors.ts";

/** Errors of outgoing webhooks (decisions 11). */
export const webhookErrors = defineErrors({
  notFound: [404, "not_found", "No such webhook."],
  deliveryNotFound: [404, "not_found", "No such delivery of the last 30 days."],
  appNotFound: [404, "app_not_found", "No such app."],
  adminRequired: [403, "forbidden", "Webhooks of an organization are its administrators'."],
  tooMany: [409, "conflict", "An organization has at most 1,000 webhooks; delete one first."],
  tooManyOfApps: [409, "conflict", "Apps have at most 500 of an organization's 1,000 webhooks; delete one first."],
  disabled: [409, "conflict", "The webhook is disabled; enable it first."],
  open: [409, "conflict", "The delivery is still open."],
});
