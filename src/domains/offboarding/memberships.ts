import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { callerOrg } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { MemberRow, MembershipWish, Origin } from "../rbac/index.ts";
import type { OffboardingDeps } from "./deps.ts";

type Deps = Pick<
  OffboardingDeps,
  "organizations" | "rbac" | "marketplace" | "invitations" | "sessions" | "credentials"
>;

/** Changes of memberships, with the end of everything that stands on one that ends. */
export function createMembershipChanges(deps: Deps) {
  const { organizations, rbac, marketplace, invitations, sessions, credentials } = deps;

  /**
   * Changes a locked membership of the caller's organization; returns it, undefined once removed. Grants, invitations,
   * sessions and API keys of a member who is removed or deactivated end with it. Rows are locked in the order of every
   * other transaction of a caller: first what is written, last what the caller depends on. `others`: active owners
   * besides this one, counted when absent. `why`: what the events give as the reason.
   */
  async function change(
    tx: Tx,
    { caller, info }: Origin,
    member: MemberRow,
    wish: MembershipWish,
    others?: number,
    why?: string,
  ): Promise<MemberRow | undefined> {
    const state = await rbac.members.next(tx, caller, member, wish, others);
    if (state === undefined) return member;
    const { status } = state;
    const [orgUuid, userUuid] = [callerOrg(caller), member.user_uuid];
    const by = { caller, info, reason: why ?? `membership_${status}` };
    const ends = status !== member.status && status !== "active";
    if (ends) {
      if (status === "removed") await marketplace.memberLeaves(tx, orgUuid, userUuid);
      await invitations.endWithMembership(tx, orgUuid, userUuid, by);
    }
    await rbac.members.write(tx, caller, member, state);
    if (ends) {
      await sessions.ending.ofMember(tx, orgUuid, userUuid, by);
      await credentials.manage.endWithMembership(tx, orgUuid, userUuid, by);
    }
    return rbac.members.record(tx, by, member, state);
  }

  return {
    change,

    /**
     * Ends the membership of an account that ends, even of the last owner. The person's row must be locked; `caller`
     * stands for the account.
     */
    async end(tx: Tx, caller: Caller, userUuid: string, info: RequestInfo): Promise<void> {
      const orgUuid = callerOrg(caller);
      if ((await organizations.lock(tx, orgUuid)) === undefined) return;
      const member = await rbac.members.find(tx, orgUuid, userUuid);
      if (member !== undefined) await change(tx, { caller, info }, member, { status: "removed" }, Infinity);
    },
  };
}
