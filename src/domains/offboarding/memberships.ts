import { callerOrg } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { causedBy } from "../event-catalogue/index.ts";
import type { Cause, EndedBy } from "../event-catalogue/index.ts";
import type { MemberRow, MembershipState, MembershipWish, Origin } from "../rbac/index.ts";
import type { OffboardingDeps } from "./deps.ts";

type Deps = Pick<
  OffboardingDeps,
  "organizations" | "rbac" | "marketplace" | "invitations" | "sessions" | "credentials"
>;

/** Changes of memberships, with the end of everything that stands on one that ends. */
export function createMembershipChanges(deps: Deps) {
  const { organizations, rbac, marketplace, invitations, sessions, credentials } = deps;

  /**
   * Writes what a locked membership has become, and ends what stood on it: grants, invitations, sessions and API keys
   * of a member who is removed or deactivated. Rows are locked in the order of every other transaction of a caller:
   * first what is written, last what the caller depends on.
   */
  async function write(
    tx: Tx,
    orgUuid: string,
    member: MemberRow,
    state: MembershipState,
    why: EndedBy,
  ): Promise<MemberRow | undefined> {
    const [{ userUuid }, { status }] = [member, state];
    const ends = status !== member.status && status !== "active";
    if (ends) {
      if (status === "removed") await marketplace.memberLeaves(tx, orgUuid, userUuid);
      await invitations.endWithMembership(tx, orgUuid, userUuid, why);
    }
    await rbac.members.write(tx, orgUuid, member, state);
    if (ends) {
      await sessions.ending.ofMember(tx, orgUuid, userUuid, why);
      await credentials.manage.endWithMembership(tx, orgUuid, userUuid, why);
    }
    return rbac.members.record(tx, why.by, orgUuid, member, state);
  }

  return {
    /**
     * Changes a locked membership of the caller's organization; returns it, undefined once removed. `why`: what the
     * events give as the reason.
     */
    async change(
      tx: Tx,
      { caller, info }: Origin,
      member: MemberRow,
      wish: MembershipWish,
      why?: string,
    ): Promise<MemberRow | undefined> {
      const state = await rbac.members.next(tx, caller, member, wish);
      if (state === undefined) return member;
      const reason = why ?? reasonOf(state);
      return write(tx, callerOrg(caller), member, state, { by: causedBy({ caller, info }), reason });
    },

    /**
     * Ends the membership of an account that ends. Where it was the last owner's, ownership passes to another active
     * member. The person's row must be locked.
     */
    async end(tx: Tx, orgUuid: string, userUuid: string, by: Cause): Promise<void> {
      if ((await organizations.lock(tx, orgUuid)) === undefined) return;
      const member = await rbac.members.find(tx, orgUuid, userUuid);
      if (member === undefined) return;
      const state: MembershipState = { roleId: member.roleId, isOwner: false, status: "removed" };
      await write(tx, orgUuid, member, state, { by, reason: reasonOf(state) });
      await rbac.members.passOwnership(tx, orgUuid, { by, reason: "last_owner_left" });
    },
  };
}

function reasonOf({ status }: MembershipState): string {
  return `membership_${status}`;
}
