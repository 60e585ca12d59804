import type { ErrorEntry } from "./entry.ts";

/** Codes of marketplace, billing, templates and AI settings. */
export const COMMERCE_CODES = {
  app_not_found: {
    status: [404],
    meaning: "There is no such app.",
    why: "The id or slug is unknown, or the app is not published and the caller does not administer it.",
    remedy: "Check the id; only published apps are visible to everybody.",
  },
  install_not_found: {
    status: [404],
    meaning: "There is no such install.",
    why: "The id is unknown or belongs to another organization.",
    remedy: "List the installs of your organization or of your app.",
  },
  target_not_found: {
    status: [404],
    meaning: "There is no such cloud target.",
    why: "The id is unknown.",
    remedy: "List the cloud targets.",
  },
  slug_taken: {
    status: [409],
    meaning: "The slug is or was in use.",
    why: "Slugs are never issued again, even after an app is archived.",
    remedy: "Choose another slug.",
  },
  already_installed: {
    status: [409],
    meaning: "The organization has a live install of this app.",
    why: "An organization has at most one live install of an app.",
    remedy: "Use the existing install, or end it first.",
  },
  invalid_transition: {
    status: [409],
    meaning: "The present status does not allow this.",
    why: "Apps and installs move through fixed states; a settled install takes no other outcome.",
    remedy: "Read the present status, then decide.",
  },
  invalid_deployment_mode: {
    status: [400],
    meaning: "The app is not offered in this deployment mode.",
    why: "The mode is not one of the app's, or the app has several and none was chosen.",
    remedy: "Send one of the app's deployment_modes.",
  },
  invalid_plan: {
    status: [400],
    meaning: "There is no such plan.",
    why: "The plan is not one of the app, or not one of the installation.",
    remedy: "Read the plans and send the name of one.",
  },
  grant_exists: {
    status: [409],
    meaning: "This person administers the app already.",
    why: "A grant exists once per person and app.",
    remedy: "Nothing: what you wanted is in force.",
  },
  price_not_found: {
    status: [404],
    meaning: "There is no such price, or it is not sold any more.",
    why: "Prices never change; a new price replaces a deactivated one.",
    remedy: "List the prices and use an active one.",
  },
  card_not_found: {
    status: [404],
    meaning: "There is no such card.",
    why: "The card was deleted, or belongs to another person.",
    remedy: "List your cards.",
  },
  card_declined: {
    status: [422],
    meaning: "The payment provider declined the payment method.",
    why: "The card is refused, or the provider does not know the token.",
    remedy: "Try another payment method.",
  },
  raw_card_rejected: {
    status: [400],
    meaning: "The body has a card number.",
    why: "Card numbers must never reach this service.",
    remedy: "Send the token of the provider's own form, and treat the number as disclosed.",
  },
  currency_unsupported: {
    status: [400],
    meaning: "The price is not sold in this currency.",
    why: "The price has no such row, ISO 4217 has no such currency, or the provider does not charge the sum in it.",
    remedy: "Use a currency of the price, or the other provider.",
  },
  quote_invalid: {
    status: [400],
    meaning: "Reserved: nothing sends it in this version.",
    why: "A quote that cannot be used is refused by quote_expired, quote_consumed or not_found.",
    remedy: "Ask for a new quote.",
  },
  quote_expired: {
    status: [410],
    meaning: "The quote has expired.",
    why: "A quote is valid for 15 minutes.",
    remedy: "Ask for a new quote.",
  },
  quote_consumed: {
    status: [409],
    meaning: "The quote has been paid.",
    why: "A quote is paid once.",
    remedy: "Ask for a new quote for another purchase.",
  },
  provider_unknown: {
    status: [404],
    meaning: "There is no such payment provider.",
    why: "Providers are stripe and paddle.",
    remedy: "Use one of these names.",
  },
  provider_not_configured: {
    status: [503],
    meaning: "The payment provider is not configured.",
    why: "The operator did not set the credentials of the provider.",
    remedy: "Use the other provider, or ask the operator.",
  },
  provider_error: {
    status: [502],
    meaning: "A provider refused or could not be reached.",
    why: "A payment or identity provider answered with an error, or not at all.",
    remedy: "Try again later. Where the provider refuses, repeating does not help: the operator's log says why.",
  },
  signature_invalid: {
    status: [400],
    meaning: "The signature of the payment provider's webhook is wrong.",
    why: "The secret is another one, the body was changed on its way, or the clocks differ by more than 5 minutes.",
    remedy: "Check the webhook secret and that no proxy rewrites the body.",
  },
  template_not_found: {
    status: [404],
    meaning: "There is no such template.",
    why: "The id is unknown or the template was deleted.",
    remedy: "List the templates.",
  },
  invalid_template: {
    status: [400],
    meaning: "A placeholder cannot be escaped safely where it stands, or elements are too many or nest too deeply.",
    why:
      "Placeholders are not allowed in scripts, styles, comments, event handlers, names and unquoted values; " +
      "there are at most 100,000 elements, in 500 levels, 50 of them lists and quotes.",
    remedy: "Move the placeholder into text or a quoted attribute value; close elements that are left open.",
  },
  invalid_format: {
    status: [400],
    meaning: "The format is not one of this route.",
    why: "A document is rendered as html or text.",
    remedy: "Send one of the two.",
  },
  missing_variable: {
    status: [422],
    meaning: "A placeholder has no value.",
    why: "The value was neither sent nor stored as a variable; message names it.",
    remedy: "Send the value, or store it as a variable.",
  },
  variable_exists: {
    status: [409],
    meaning: "A variable with this key exists in this scope.",
    why: "Keys are unique per scope and owner.",
    remedy: "Change the existing variable, or choose another key.",
  },
  unknown_provider: {
    status: [400],
    meaning: "There is no such AI provider.",
    why: "Providers are openai, anthropic, google, mistral and bedrock.",
    remedy: "Use one of these names.",
  },
  invalid_budget: {
    status: [400],
    meaning: "The budget is not an amount in US dollars.",
    why: "It is 0 to 1,000,000,000 with at most 2 decimals.",
    remedy: "Send a number in this range.",
  },
} as const satisfies Record<string, ErrorEntry>;
