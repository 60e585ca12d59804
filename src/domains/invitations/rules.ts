import type { ServiceError } from "../../platform/errors.ts";
import { invitationErrors } from "./errors.ts";
import type { InvitationRow } from "./store.ts";

/** Why an invitation cannot be accepted; undefined when it can. */
export function refusalOf(invitation: InvitationRow | undefined): ServiceError | undefined {
  if (invitation === undefined || invitation.status === "withdrawn" || invitation.status === "replaced")
    return invitationErrors.notFound();
  return invitation.status === "pending" ? undefined : invitationErrors.expired();
}

/**
 * An invitation that can be accepted.
 * @throws {invitation_not_found} when there is none, or it was withdrawn or replaced
 * @throws {invitation_expired} when it has expired or was accepted
 */
export function demandPending(invitation: InvitationRow | undefined): InvitationRow {
  const refusal = refusalOf(invitation);
  if (refusal !== undefined || invitation === undefined) throw refusal ?? invitationErrors.notFound();
  return invitation;
}
