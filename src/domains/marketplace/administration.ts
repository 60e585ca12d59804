import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { newWebhookSecret } from "../../platform/outgoing/signature.ts";
import * as admin from "./admin-store.ts";
import type { CloudTargetRow, GrantRow, ListingRow } from "./admin-store.ts";
import { personBehind } from "../access/index.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import type { App } from "./entities.ts";
import { marketplaceErrors } from "./errors.ts";
import type { MarketplaceAuditType } from "./events.ts";
import type { Installs } from "./installs.ts";
import * as store from "./store.ts";
import type { Page } from "./store.ts";

/** Somebody who administers an app. */
export interface AppAdmin {
  userUuid: string;
  email: string;
  isOrgOwner: boolean;
  /** Null for owners, who need no grant. */
  grantedAt: Date | null;
}

/** What administrators of an app do besides describing it: secrets, keys, listings, further administrators. */
export function createAdministration(deps: MarketplaceDeps, installs: Installs) {
  const { database, clock, random, sealer } = deps;

  /** An app to write about, for somebody who administers it until the transaction ends. */
  async function lockedApp(tx: Tx, caller: Caller, appId: string): Promise<App> {
    const app = await store.lockApp(tx, appId);
    if (app === null) throw marketplaceErrors.appNotFound();
    await deps.access.apps.demandAdministrator(tx, caller, app);
    return app;
  }

  function audited(
    tx: Tx,
    type: MarketplaceAuditType,
    app: App,
    caller: Caller,
    info: RequestInfo,
    more: Record<string, unknown> = {},
  ): Promise<void> {
    return deps.audit(tx, {
      type,
      orgUuid: app.orgUuid,
      caller,
      info,
      resourceType: "app",
      resourceId: app.appId,
      metadata: { app_id: app.appId, ...more },
    });
  }

  async function stillMembers(orgUuid: string, grants: readonly GrantRow[]): Promise<GrantRow[]> {
    const active = await deps.people.activeMembersOf(
      orgUuid,
      grants.map((grant) => grant.user_uuid),
    );
    return grants.filter((grant) => active.has(grant.user_uuid));
  }

  return {
    /** A new provision secret; the old one stops working at once. Error: 404 app_not_found. */
    rotateSecret: (caller: Caller, info: RequestInfo, appId: string): Promise<string> =>
      database.transaction(async (tx) => {
        const app = await lockedApp(tx, caller, appId);
        const secret = newWebhookSecret(random);
        app.webhookSecret = sealer.seal(secret, secretContext(appId));
        app.updatedAt = dateOf(clock);
        await audited(tx, "app.secret_rotated", app, caller, info);
        return secret;
      }, caller),

    /**
     * Voids every `app_admin` claim issued before for this app, and nothing else (decisions 6.5). Error: 404
     * app_not_found.
     */
    rotateKey: (caller: Caller, info: RequestInfo, appId: string): Promise<{ keyId: string; rotatedAt: Date }> =>
      database.transaction(async (tx) => {
        const app = await lockedApp(tx, caller, appId);
        const [keyId, rotatedAt] = [random.uuid(), dateOf(clock)];
        app.keyId = keyId;
        app.keyRotatedAt = rotatedAt;
        await audited(tx, "key.rotated", app, caller, info, { kind: "app", key_id: keyId });
        return { keyId, rotatedAt };
      }, caller),

    /** Lists the app on another marketplace. Errors: 404 app_not_found, 409 conflict for what is listed already. */
    list: (
      caller: Caller,
      info: RequestInfo,
      listing: Pick<ListingRow, "app_id" | "marketplace" | "external_product_id" | "external_plan_id">,
    ): Promise<ListingRow> =>
      database.transaction(async (tx) => {
        const app = await lockedApp(tx, caller, listing.app_id);
        if (await admin.isListed(tx, listing)) throw marketplaceErrors.listed();
        const row: ListingRow = { ...listing, listing_id: random.uuid(), status: "active", created_at: dateOf(clock) };
        await admin.insertListing(tx, row);
        await audited(tx, "listing.created", app, caller, info, {
          listing_id: row.listing_id,
          marketplace: row.marketplace,
        });
        return row;
      }, caller),

    /** Listings of an app, newest first. */
    listings: (appId: string, page: Page) => database.read((em) => admin.listingsOf(em, appId, page)),

    /** Owners of the publishing organization, then its active members with a grant. Error: 404 app_not_found. */
    async admins(appId: string): Promise<AppAdmin[]> {
      const app = await database.read((em) => store.appById(em, appId));
      if (app === null) throw marketplaceErrors.appNotFound();
      const [owners, all] = await Promise.all([deps.people.ownersOf(app.orgUuid), admin.grantsOf(database, appId)]);
      const grants = await stillMembers(app.orgUuid, all);
      const emails = await deps.people.emailsOf(grants.map((grant) => grant.user_uuid));
      const owning = new Set(owners.map((owner) => owner.userUuid));
      return [
        ...owners.map((owner): AppAdmin => ({ ...owner, isOrgOwner: true, grantedAt: null })),
        ...grants
          .filter((grant) => !owning.has(grant.user_uuid))
          .map(
            (grant): AppAdmin => ({
              userUuid: grant.user_uuid,
              email: emails.get(grant.user_uuid) ?? "",
              isOrgOwner: false,
              grantedAt: grant.created_at,
            }),
          ),
      ];
    },

    /**
     * Makes a member of the publishing organization administrator. Errors: 404 app_not_found, user_not_found, 409
     * grant_exists.
     */
    async grant(caller: Caller, info: RequestInfo, appId: string, userUuid: string): Promise<GrantRow> {
      return database.transaction(async (tx) => {
        const app = await lockedApp(tx, caller, appId);
        if (!(await deps.people.keepActiveMember(tx, app.orgUuid, userUuid))) throw marketplaceErrors.userNotFound();
        const made = await admin.insertGrant(tx, {
          grant_id: random.uuid(),
          app_id: appId,
          user_uuid: userUuid,
          granted_by: await personBehind(tx, caller),
          created_at: dateOf(clock),
        });
        if (made === undefined) throw marketplaceErrors.grantExists();
        await audited(tx, "app.admin_granted", app, caller, info, { user_uuid: userUuid });
        return made;
      }, caller);
    },

    /**
     * Ends a grant: nothing more is written for it, and the person's token shows it at its next refresh. Errors: 404
     * app_not_found, user_not_found.
     */
    revoke: (caller: Caller, info: RequestInfo, appId: string, userUuid: string): Promise<void> =>
      database.transaction(async (tx) => {
        const app = await lockedApp(tx, caller, appId);
        if (!(await admin.deleteGrant(tx, appId, userUuid))) throw marketplaceErrors.userNotFound();
        await audited(tx, "app.admin_revoked", app, caller, info, { user_uuid: userUuid });
      }, caller),

    /** Cloud targets of every organization, newest first. */
    cloudTargets: (status: string | undefined, page: Page) =>
      database.read((em) => admin.cloudTargets(em, status, page)),

    /** Takes a cloud target away and gives its install back. Again it changes nothing. Error: 404 target_not_found. */
    revokeCloudTarget: (caller: Caller, info: RequestInfo, targetId: string): Promise<CloudTargetRow> =>
      database.transaction(async (tx) => {
        const target = await admin.revokeTarget(tx, targetId);
        if (target === undefined) throw marketplaceErrors.targetNotFound();
        await installs.removeIn(
          tx,
          { caller, info },
          target.install_id,
          "its cloud target was revoked by the platform",
        );
        return target;
      }, caller),
  };
}
