import { dateOf } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Access, Standing } from "../access/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { sessionErrors } from "./errors.ts";
import { demandSingleSignOn } from "./open.ts";
import type { OpenedPair, Openings } from "./open.ts";
import { identityOf, takeSource } from "./store.ts";
import type { SourceSession } from "./store.ts";

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

/**
 * Demands that a session may enter an organization. A provider vouches for people in its own organization alone:
 * anybody can found one, and have its provider name an address, so that its link proves nothing to others.
 */
async function demandWayIn(tx: Tx, { uuid, amr }: SourceSession, standing: Standing, orgUuid: string): Promise<void> {
  demandSingleSignOn(standing, amr);
  if (!amr.includes("fed")) return;
  const identity = await identityOf(tx, uuid);
  if (identity?.orgUuid !== orgUuid && identity?.byPerson !== true) throw sessionErrors.linkRequired();
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
    if (userUuid === null) throw errors.forbidden();
    if (wanted.toLowerCase() === present) throw sessionErrors.sameOrganization();
    return context.transaction(async (tx) => {
      const standing = await access.standing(tx, userUuid, wanted);
      if (standing === undefined || standing.org === null) throw sessionErrors.orgNotFound();
      const source = await takeSource(tx, sessionId, dateOf(clock));
      if (source === undefined) throw errors.unauthorized();
      const { amr, authTime, deviceUuid: device } = source;
      const { uuid: orgUuid, name: orgName } = standing.org;
      await demandWayIn(tx, source, standing, orgUuid);
      const info = { ...context.info, deviceUuid: context.info.deviceUuid ?? device };
      const opened = await open.pair(tx, { standing, amr, authTime, info, source });
      await events.emit(tx, EVENTS["session.switched"], {
        by: causedBy(context),
        orgUuid,
        userUuid,
        resourceId: opened.sessionId,
        metadata: { session_id: opened.sessionId, source_session_id: source.uuid, from_org_uuid: present },
      });
      return { ...opened, orgUuid, orgName };
    });
  };
}
