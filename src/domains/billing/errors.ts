import { defineErrors } from "../../platform/errors.ts";

/** Errors of billing (decisions 1.6). */
export const billingErrors = defineErrors({
  priceNotFound: [404, "price_not_found", "No such price, or it is not sold any more."],
  invalidPlan: [400, "invalid_plan", "There is no such plan; list the plans."],
  currencyUnsupported: [400, "currency_unsupported", "The price is not sold in this currency."],
  unknownCurrency: [400, "currency_unsupported", "There is no such currency in ISO 4217."],
  tooManyPlans: [409, "conflict", "There are 1,000 plans; change one of these."],
  meterNotFound: [404, "not_found", "No such meter."],
  meterExists: [409, "conflict", "A meter of this event name exists; choose another name.", "duplicate"],
  tooManyMeters: [409, "conflict", "The organization has 1,000 meters."],
});
