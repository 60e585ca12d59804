export { invitationsDomain } from "./domain.ts";
export { invitationErrors } from "./errors.ts";
export { createInvitations } from "./invitations.ts";
export type { Invitations } from "./invitations.ts";
export type { InvitationRow } from "./store.ts";
