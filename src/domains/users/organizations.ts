import { callerOrg } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Database } from "../../platform/db/types.ts";
import { certain } from "../../platform/narrow.ts";
import type { Access } from "../access/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Offboarding } from "../offboarding/index.ts";
import type { Oidc } from "../oidc/index.ts";
import { organizationErrors } from "../organizations/index.ts";
import type { OrganizationChange, OrganizationRow, Organizations } from "../organizations/index.ts";
import type { Rbac } from "../rbac/index.ts";
import { userErrors } from "./errors.ts";
import { demandMayChange, readDomains } from "./organization-rules.ts";
import type { OrganizationWish } from "./organization-rules.ts";
import { organizationOfCredential, organizationsOf } from "./organization-store.ts";
import type { MembershipRow } from "./organization-store.ts";

/** Dependencies of organizations. */
export interface OrganizationsDeps {
  database: Database;
  clock: Clock;
  events: Pick<Events, "emit">;
  organizations: Pick<Organizations, "find" | "lock" | "change" | "planExists">;
  access: Pick<Access, "entitled" | "entitledIn">;
  rbac: Pick<Rbac, "members">;
  offboarding: Pick<Offboarding, "organizations">;
  oidc: { demandAnyConnection: Oidc["demandAnyConnection"] };
}

/** An organization, with the features of its plan and its active apps. */
export type EntitledOrganization = OrganizationRow & { entitlements: string[] };

/** Organizations as their members see and change them (decisions 2.5, 2.9). */
export function createOrganizations(deps: OrganizationsDeps) {
  const { database, clock, events, organizations, access, rbac, offboarding, oidc } = deps;

  return {
    /** The organizations the caller is a member of, active or not; of a credential of an organization, that one. */
    list({ caller }: CallerContext): Promise<MembershipRow[]> {
      if (caller.userUuid !== null) return organizationsOf(database, caller.userUuid);
      return organizationOfCredential(database, callerOrg(caller), certain(caller.roles[0], "role of a credential"));
    },

    /**
     * The caller's organization.
     * @throws {not_found} when it has ended
     */
    async find({ caller }: CallerContext): Promise<EntitledOrganization> {
      const found = await organizations.find(callerOrg(caller));
      if (found === undefined) throw organizationErrors.notFound();
      return access.entitled(found);
    },

    /**
     * Changes an organization: its name and mail domains by its administrators, the plan of any by platform admins.
     * @throws {forbidden} when the caller may not change that
     * @throws {not_found} when there is no such organization
     * @throws {invalid_plan} when there is no such plan
     * @throws {validation_error} for the name and the domains
     * @throws {conflict} when the name is in use, or single sign-on is required without a connection
     */
    async update(context: CallerContext, orgUuid: string, wish: OrganizationWish): Promise<EntitledOrganization> {
      demandMayChange(context.caller, orgUuid, wish);
      const change: OrganizationChange = {
        name: wish.name,
        plan: wish.plan,
        jitDomains: wish.jitDomains === undefined ? undefined : readDomains(wish.jitDomains),
        ssoRequired: wish.ssoRequired,
      };
      return context.transaction(async (tx) => {
        const before = await organizations.lock(tx, orgUuid);
        if (before === undefined) throw organizationErrors.notFound();
        if (change.plan !== undefined && !(await organizations.planExists(tx, change.plan)))
          throw userErrors.invalidPlan();
        if (change.ssoRequired === true) await oidc.demandAnyConnection(tx, orgUuid);
        const after = await organizations.change(tx, before, change, dateOf(clock));
        if (after === before) return access.entitledIn(tx, before);
        await events.emit(tx, EVENTS["organization.updated"], {
          by: causedBy(context),
          orgUuid,
          resourceId: orgUuid,
          metadata: { before: stateOf(before), after: stateOf(after) },
        });
        return access.entitledIn(tx, after);
      });
    },

    /**
     * Ends the caller's organization: every session and token of it is refused from the next request on, and its names
     * stay taken.
     * @throws {not_found} when it has ended
     * @throws {unauthorized} when the caller was removed while waiting for the lock
     */
    async remove(context: CallerContext): Promise<void> {
      await context.transaction(async (tx) => {
        const org = await rbac.members.lockOwnOrganization(tx, context.caller);
        await offboarding.organizations.endLocked(tx, org, causedBy(context));
      });
    },
  };
}

/** What the audit log shows of an organization. */
function stateOf({ name, plan, adminPlan, jitDomains, ssoRequired }: OrganizationRow) {
  return { name, plan, admin_plan: adminPlan, jit_domains: jitDomains, sso_required: ssoRequired };
}
