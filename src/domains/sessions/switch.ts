import { dateOf } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { personRequired } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import type { Access } from "../access/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { sessionErrors } from "./errors.ts";
import { demandSingleSignOn } from "./open.ts";
import type { OpenedPair, Openings } from "./open.ts";
import { takeSource } from "./store.ts";
import { demandVouching } from "./vouching.ts";

/** Dependencies of {@link createOrganizationSwitch}. */
export interface OrganizationSwitchDeps {
  clock: Clock;
  access: Pick<Access, "standing">;
  events: Pick<Events, "emit">;
  open: Openings;
}

/** The organization that has been switched to, and the tokens for it. */
export interface SwitchedOrganization extends OpenedPair {
  orgUuid: string;
  orgName: string;
}

/** Switching between the organizations of one person (decisions 17.2). */
export function createOrganizationSwitch({ clock, access, events, open }: OrganizationSwitchDeps) {
  /**
   * Opens a session of the caller in another of their organizations, never elevated, derived from the present one.
   * @throws {conflict} when it is the organization of the present session
   * @throws {org_not_found} when the caller is no active member
   * @throws {sso_required} when the organization requires single sign-on, and the present session has not come by it
   * @throws {link_required} when the present session has come by a provider of another organization, and the person has
   * not linked the identity themselves
   * @throws {unauthorized} when the present session has ended
   */
  return async function switchOrganization(context: CallerContext, wanted: string): Promise<SwitchedOrganization> {
    const { userUuid, orgUuid: present, sessionId } = context.caller;
    if (userUuid === null) throw personRequired();
    if (wanted.toLowerCase() === present) throw sessionErrors.sameOrganization();
    return context.transaction(async (tx) => {
      const standing = await access.standing(tx, userUuid, wanted);
      if (standing === undefined || standing.org === null) throw sessionErrors.orgNotFound();
      const source = await takeSource(tx, sessionId, dateOf(clock));
      if (source === undefined) throw errors.unauthorized();
      const { amr, authTime, deviceUuid: device } = source;
      const { uuid: orgUuid, name: orgName } = standing.org;
      demandSingleSignOn(standing, amr);
      await demandVouching(tx, source, orgUuid);
      const info = { ...context.info, deviceUuid: context.info.deviceUuid ?? device };
      const opened = await open.pair(tx, { standing, amr, authTime, info, source });
      await events.emit(tx, EVENTS["session.switched"], {
        by: causedBy(context),
        orgUuid,
        userUuid,
        resourceId: opened.sessionId,
        // The log of one organization does not tell which others the person belongs to.
        metadata: { session_id: opened.sessionId, source_session_id: source.uuid },
      });
      return { ...opened, orgUuid, orgName };
    });
  };
}
