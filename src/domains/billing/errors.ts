import { defineErrors } from "../../platform/errors.ts";

/** Errors of billing (decisions 1.6). */
export const billingErrors = defineErrors({
  priceNotFound: [404, "price_not_found", "No such price, or it is not sold any more."],
  invalidPlan: [400, "invalid_plan", "There is no such plan; list the plans."],
  currencyUnsupported: [400, "currency_unsupported", "The price is not sold in this currency."],
  unknownCurrency: [400, "currency_unsupported", "There is no such currency in ISO 4217."],
  unsupportedSum: [
    400,
    "currency_unsupported",
    "The provider cannot charge this sum in this currency; use the other provider, or buy in another currency.",
  ],
  tooManyPlans: [409, "conflict", "There are 1,000 plans; change one of these."],
  quoteNotFound: [404, "not_found", "No such quote."],
  quoteExpired: [410, "quote_expired", "The quote has expired; ask for a new one."],
  quoteConsumed: [409, "quote_consumed", "The quote has been paid."],
  otherProvider: [409, "conflict", "The quote has a checkout at another provider; finish it, or ask for a new quote."],
  unknownCustomer: [
    409,
    "conflict",
    "The provider has no customer of this organization; buy something or add a card first, with a confirmed email.",
  ],
  sharedCustomer: [
    409,
    "conflict",
    "Another organization has the same customer at the provider, whose portal would show both; pay with another email.",
  ],
  subscriptionNotFound: [404, "not_found", "No such subscription, or it has ended."],
  cardNotFound: [404, "card_not_found", "No such card."],
  cardDeclined: [422, "card_declined", "The provider declined the payment method, or does not know it."],
  rawCard: [400, "raw_card_rejected", "Never send card numbers; send the token of the provider's own form."],
  tooManyCards: [409, "conflict", "There are 50 cards; delete one first."],
  noPerson: [403, "forbidden", "Cards belong to a person; sign in as one."],
  meterNotFound: [404, "not_found", "No such meter."],
  meterExists: [409, "conflict", "A meter of this event name exists; choose another name.", "duplicate"],
  tooManyMeters: [409, "conflict", "The organization has 1,000 meters."],
});
