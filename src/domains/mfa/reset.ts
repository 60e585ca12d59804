import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { MfaDeps } from "./deps.ts";
import { mfaErrors } from "./errors.ts";
import type { Factors } from "./factors.ts";
import { factorMail, NOTICE_MS } from "./mails.ts";
import type { RecentProof } from "./proof.ts";

/** Removal of a member's factors by an administrator, for a member who has lost them (decisions 4.1). */
export function createFactorReset(
  { clock, events, people, rbac, sessions }: MfaDeps,
  factors: Pick<Factors, "endAll">,
  proof: RecentProof,
) {
  /**
   * Removes the factors and recovery codes of a member of the caller's organization and ends all their sessions. For
   * the caller's own account the second factor must have been proven, as for removing a single factor.
   * @throws {user_not_found} when the organization has no such member
   * @throws {forbidden} when the member belongs to another organization too, or is an owner and the caller is not
   * @throws {step_up_required} without a recent proof of the caller's own second factor
   */
  return async function reset(context: CallerContext, userUuid: string): Promise<void> {
    const { caller } = context;
    const by = causedBy(context);
    const orgUuid = callerOrg(caller);
    await context.transaction(async (tx) => {
      const member = await rbac.members.lock(tx, caller, userUuid);
      if (member.isOwner && !caller.isOwner) throw mfaErrors.ownersOnly();
      if (await people.memberships.belongsElsewhere(tx, orgUuid, userUuid)) throw mfaErrors.elsewhere();
      if (userUuid === caller.userUuid) await proof.demand(tx, caller);
      const removed = await factors.endAll(tx, userUuid, "reset", by);
      await sessions.own.endAll(tx, userUuid, "mfa_reset", by);
      await events.emit(tx, EVENTS["mfa.reset"], {
        by,
        orgUuid,
        userUuid,
        resourceId: userUuid,
        metadata: { user_uuid: userUuid, factors: removed },
      });
      if (removed === 0) return;
      const mail = { to: member.email, organization: caller.orgName ?? undefined, write: () => factorMail("reset") };
      await people.mails.send(tx, mail, dateOf(clock, NOTICE_MS));
    });
  };
}
