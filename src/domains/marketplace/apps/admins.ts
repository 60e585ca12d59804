import type { CallerContext } from "../../../platform/context.ts";
import { presentTime } from "../../../platform/db/time.ts";
import { certain } from "../../../platform/narrow.ts";
import { personBehind } from "../../access/index.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import { deleteGrant, grantsOf, insertGrant } from "./admin-store.ts";
import type { GrantRow } from "./admin-store.ts";
import { lockAdministeredApp } from "./administered-app.ts";
import { appById, publisherOf } from "./store.ts";

/** An administrator of an app. */
export interface AppAdmin {
  userUuid: string;
  email: string;
  isOrgOwner: boolean;
  /** Null for owners, who need no grant. */
  grantedAt: Date | null;
}

/** Administrators of apps: owners of the publishing organization, and its members with a grant. */
export function createAdmins(deps: MarketplaceDeps) {
  const { database, clock, random, events, organizations, people } = deps;
  return {
    /**
     * Owners of the publishing organization, then its active members with a grant.
     * @throws {app_not_found} when there is no such app
     */
    async admins(appId: string): Promise<AppAdmin[]> {
      const app = await database.read((em) => appById(em, appId));
      if (app === null) throw marketplaceErrors.appNotFound();
      const [owners, all] = await Promise.all([people.memberships.ownersOf(app.orgUuid), grantsOf(database, appId)]);
      const active = await people.memberships.activeOf(
        app.orgUuid,
        all.map((grant) => grant.userUuid),
      );
      const isOwner = new Set(owners.map((owner) => owner.userUuid));
      const grants = all.filter(({ userUuid }) => active.has(userUuid) && !isOwner.has(userUuid));
      const emails = await people.emailsOf(grants.map((grant) => grant.userUuid));
      return [
        ...owners.map((owner): AppAdmin => ({ ...owner, isOrgOwner: true, grantedAt: null })),
        ...grants.map(
          ({ userUuid, createdAt }): AppAdmin => ({
            userUuid,
            email: certain(emails.get(userUuid), "address of a person"),
            isOrgOwner: false,
            grantedAt: createdAt,
          }),
        ),
      ];
    },

    /**
     * Grants the administration of an app to an active member of the publishing organization.
     * @throws {app_not_found} when there is no such app
     * @throws {user_not_found} when the person is no active member
     * @throws {grant_exists} when they have a grant already
     */
    grant: (context: CallerContext, appId: string, userUuid: string): Promise<GrantRow> =>
      context.transaction(async (tx) => {
        const publisher = await publisherOf(tx, appId);
        if (publisher === undefined) throw marketplaceErrors.appNotFound();
        // A removal of the member holds the organization. It deletes their grants before it ends the membership, and
        // would miss a grant that is made between.
        await organizations.keep(tx, publisher);
        const app = await lockAdministeredApp(deps, tx, context.caller, appId);
        if (!(await people.memberships.keepActive(tx, app.orgUuid, userUuid))) throw marketplaceErrors.userNotFound();
        const grant = await insertGrant(tx, {
          grantId: random.uuid(),
          appId,
          userUuid,
          grantedBy: await personBehind(tx, context.caller),
          createdAt: await presentTime(tx, clock),
        });
        if (grant === undefined) throw marketplaceErrors.grantExists();
        await events.emit(tx, EVENTS["app.admin_granted"], {
          by: causedBy(context),
          orgUuid: app.orgUuid,
          resourceId: app.appId,
          metadata: { app_id: app.appId, user_uuid: userUuid },
        });
        return grant;
      }),

    /**
     * Revokes a grant. No write is accepted for it afterwards; the person's token shows it after its next refresh.
     * @throws {app_not_found} when there is no such app
     * @throws {user_not_found} when the person has no grant
     */
    revoke: (context: CallerContext, appId: string, userUuid: string): Promise<void> =>
      context.transaction(async (tx) => {
        const app = await lockAdministeredApp(deps, tx, context.caller, appId);
        if (!(await deleteGrant(tx, appId, userUuid))) throw marketplaceErrors.userNotFound();
        await events.emit(tx, EVENTS["app.admin_revoked"], {
          by: causedBy(context),
          orgUuid: app.orgUuid,
          resourceId: app.appId,
          metadata: { app_id: app.appId, user_uuid: userUuid },
        });
      }),
  };
}
