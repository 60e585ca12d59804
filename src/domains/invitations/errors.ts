import { defineErrors } from "../../platform/errors.ts";

/** Errors of invitations (decisions 1.6). */
export const invitationErrors = defineErrors({
  expired: [400, "invitation_expired", "The invitation has expired or was used; ask for another."],
  notFound: [
    404,
    "invitation_not_found",
    "There is no such invitation; it may have been withdrawn, or replaced by a newer one.",
  ],
  memberAlready: [409, "email_taken", "This email has a membership in the organization."],
});
