import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Offboarding } from "../offboarding/index.ts";
import { demandGrantable, demandOwnership } from "../rbac/index.ts";
import type { MemberRow, Rbac } from "../rbac/index.ts";

/** Dependencies of members. */
export interface MembersDeps {
  rbac: Pick<Rbac, "members" | "roles">;
  offboarding: Pick<Offboarding, "members" | "organizations">;
}

/** Members of the caller's organization, as its administrators change them (decisions 2.4). */
export function createMembers({ rbac, offboarding }: MembersDeps) {
  /** Activation gives the role anew. @throws {forbidden} when it goes beyond the caller's own power */
  async function demandActivation(tx: Tx, caller: Caller, { roleId }: MemberRow): Promise<void> {
    demandGrantable(caller, (await rbac.roles.find(tx, callerOrg(caller), roleId)).permissions);
  }

  return {
    list: rbac.members.list,
    setRole: rbac.members.assignRole,

    /**
     * Changes status and ownership; sessions, API keys and open invitations of a member who is deactivated end at
     * once.
     * @throws {forbidden} when somebody who is not an owner changes ownership, or an owner's membership, and when a
     * member is activated whose role goes beyond the caller's own power
     * @throws {step_up_required} when ownership changes and the token is not elevated
     * @throws {user_not_found} when the organization has no such member
     * @throws {last_owner} when no owner would be left
     * @throws {conflict} when an owner would be inactive
     */
    async update(
      context: CallerContext,
      userUuid: string,
      wish: { status?: "active" | "inactive" | undefined; isOwner?: boolean | undefined },
    ): Promise<MemberRow> {
      if (wish.isOwner !== undefined) demandOwnership(context.caller);
      return context.transaction(async (tx) => {
        const member = await rbac.members.lock(tx, context.caller, userUuid);
        if (wish.status === "active" && member.status === "inactive")
          await demandActivation(tx, context.caller, member);
        return (await offboarding.members.change(tx, context, member, wish)) ?? member;
      });
    },

    /**
     * Removes a member; their sessions, API keys and open invitations end at once.
     * @throws {user_not_found} when the organization has no such member
     * @throws {forbidden} when somebody who is not an owner removes an owner
     * @throws {last_owner} when no owner would be left
     */
    async remove(context: CallerContext, userUuid: string): Promise<void> {
      await context.transaction(async (tx) => {
        const member = await rbac.members.lock(tx, context.caller, userUuid);
        await offboarding.members.change(tx, context, member, { status: "removed" });
      });
    },
  };
}
