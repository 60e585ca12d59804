import { defineErrors } from "../../platform/errors.ts";

/** Errors of sessions and devices. */
export const sessionErrors = defineErrors({
  ssoRequired: [403, "sso_required", "This organization requires single sign-on; sign in through its provider."],
  linkRequired: [
    403,
    "link_required",
    "Another organization's provider opened this session; sign in here another way, or link the identity yourself.",
  ],
  orgNotFound: [404, "org_not_found", "You have no active membership in such an organization."],
  sameOrganization: [409, "conflict", "This session acts in that organization already."],
  notFound: [404, "not_found", "No such session."],
  alreadyRevoked: [409, "already_revoked", "The session has ended already."],
  deviceNotFound: [404, "not_found", "No such device."],
  accountNotFound: [404, "not_found", "No such account on this device."],
  duplicateAccount: [409, "conflict", "The account is on this device already.", "duplicate"],
  tooManyAccounts: [422, "unprocessable", "A device has at most 10 accounts; remove one first."],
  accountEnded: [
    401,
    "unauthorized",
    "The account's session has ended; sign in again, remove the account and add it anew.",
  ],
});
