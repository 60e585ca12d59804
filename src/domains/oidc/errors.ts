import { defineErrors } from "../../platform/errors.ts";

/** Errors of OpenID Connect (interface, Errors; decisions 8.5). */
export const oidcErrors = defineErrors({
  invalidConnection: [400, "invalid_connection", "There is no such connection; start the sign-in again."],
  invalidState: [
    400,
    "invalid_state",
    "This sign-in has expired, was completed before or began in another browser; start it again.",
  ],
  missingCode: [400, "missing_code", "The identity provider sent no authorization code; start the sign-in again."],
  exchangeFailed: [
    401,
    "token_exchange_failed",
    "The identity provider's answer could not be verified; an administrator checks the connection.",
  ],
  domainMismatch: [
    403,
    "domain_mismatch",
    "The identity provider gave no verified email address of a domain that this connection admits.",
  ],
  linkRequired: [
    403,
    "link_required",
    "An account has this email address already; sign in to it another way and link this identity first.",
  ],
  signInOtherwise: [
    403,
    "link_required",
    "Single sign-on proves who you are to its organization alone; sign in by password or mail to link this identity.",
  ],
  notMember: [403, "forbidden", "You are no active member of this organization; ask its administrators."],
  providerError: [502, "provider_error", "The identity provider refused or could not be reached; try again later."],
  sessionToken: [401, "unauthorized", "The session token is unknown, expired or was used before; sign in again."],
  logoutToken: [400, "bad_request", "The logout token does not verify; check issuer, audience and signature."],
  notFound: [404, "not_found", "No such connection."],
  orgNotFound: [404, "org_not_found", "No such organization."],
  linkedElsewhere: [
    409,
    "conflict",
    "The identity is linked to somebody, or you have another one linked.",
    "duplicate",
  ],
  tooMany: [409, "conflict", "The organization has 20 connections; delete one first."],
  stillRequired: [409, "conflict", "The organization requires single sign-on; its last connection stays."],
  nothingToRequire: [409, "conflict", "Create a connection before requiring single sign-on."],
});
