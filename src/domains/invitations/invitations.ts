import { dateOf } from "../../platform/clock.ts";
import { createAcceptance } from "./acceptance.ts";
import type { InvitationsDeps } from "./deps.ts";
import { createDirectoryInvitations } from "./directory.ts";
import { createEnding } from "./ending.ts";
import { createManage } from "./manage.ts";
import { deleteExpiredInvitations } from "./store.ts";

/** How long an invitation is kept after its expiry. */
const RETENTION_MS = 30 * 86_400_000;

/** Invitations to organizations; `login` and `users` serve them. */
export function createInvitations(deps: InvitationsDeps) {
  return {
    ...createManage(deps),
    ...createAcceptance(deps),
    ...createEnding(deps),
    directory: createDirectoryInvitations(deps),
    // Invitations that expired more than 30 days ago.
    tidy: { invitations: () => deleteExpiredInvitations(deps.database.background, dateOf(deps.clock, -RETENTION_MS)) },
  };
}

/** Invitations as other domains see them. */
export type Invitations = ReturnType<typeof createInvitations>;
