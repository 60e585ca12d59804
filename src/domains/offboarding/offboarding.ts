import type { OffboardingDeps } from "./deps.ts";
import { createMembershipChanges } from "./memberships.ts";
import { createOrganizationEnd } from "./organizations.ts";

/** The end of memberships and organizations, with everything that stands on them. */
export function createOffboarding(deps: OffboardingDeps) {
  return { members: createMembershipChanges(deps), organizations: createOrganizationEnd(deps) };
}

/** Offboarding as other domains use it. */
export type Offboarding = ReturnType<typeof createOffboarding>;
