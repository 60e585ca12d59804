import { callerOrg } from "../../platform/caller.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { actorOf } from "../audit-record/index.ts";
import type { MfaDeps } from "./deps.ts";
import { mfaErrors } from "./errors.ts";
import type { Factors } from "./factors.ts";
import { factorMail, NOTICE_MS } from "./mails.ts";
import type { RecentProof } from "./proof.ts";

/** The way back for a member who has lost every factor (decisions 4.1). */
export function createFactorReset(
  { database, clock, audit, people, members, sessions }: MfaDeps,
  factors: Pick<Factors, "endAll">,
  proof: RecentProof,
) {
  /**
   * Removes the factors and recovery codes of a member of the caller's organization and ends all their sessions. For
   * the caller's own account the second factor must have been proven, as for removing a single factor.
   * @throws {user_not_found}
   * @throws {forbidden} for a member of another organization too, and for an owner when the caller is none
   * @throws {step_up_required}
   */
  return async function reset(caller: Caller, userUuid: string, info: RequestInfo): Promise<void> {
    const orgUuid = callerOrg(caller);
    await database.transaction(async (tx) => {
      const member = await members.hold(tx, caller, userUuid);
      if (member.is_owner && !caller.isOwner) throw mfaErrors.ownersOnly();
      if (await people.memberships.belongsElsewhere(tx, orgUuid, userUuid)) throw mfaErrors.elsewhere();
      if (userUuid === caller.userUuid) await proof.demand(tx, caller);
      const removed = await factors.endAll(tx, userUuid, "reset", info);
      await sessions.own.endAll(tx, userUuid, "mfa_reset", info);
      const resource = { type: "user", id: userUuid };
      const metadata = { user_uuid: userUuid, factors: removed };
      await audit.record(tx, {
        type: "mfa.reset",
        outcome: "success",
        userUuid,
        orgUuid,
        info,
        actor: actorOf(caller),
        resource,
        metadata,
      });
      const letter = { to: member.email, organization: caller.orgName ?? undefined, write: () => factorMail("reset") };
      await people.mails.send(tx, letter, dateOf(clock, NOTICE_MS));
    }, caller);
  };
}
