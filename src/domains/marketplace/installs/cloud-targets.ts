import type { CallerContext } from "../../../platform/context.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { MarketplaceDeps, Page } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import { cloudTargets, revokeTarget } from "./cloud-target-store.ts";
import type { CloudTargetRow } from "./cloud-target-store.ts";
import type { Deprovisioning } from "./deprovisioning.ts";

/** Cloud targets of single-tenant installs, for platform admins (decisions 9.7). */
export function createCloudTargets(
  { database, events }: Pick<MarketplaceDeps, "database" | "events">,
  deprovisioning: Deprovisioning,
) {
  return {
    /** Cloud targets of every organization, newest first. */
    list: (status: string | undefined, page: Page) => cloudTargets(database, status, page),

    /**
     * Revokes a cloud target and begins deprovisioning its install; changes nothing when it is revoked already.
     * @throws {target_not_found} when there is no such target
     */
    revoke: (context: CallerContext, targetId: string): Promise<CloudTargetRow> =>
      context.transaction(async (tx) => {
        const revoked = await revokeTarget(tx, targetId);
        if (revoked === undefined) throw marketplaceErrors.targetNotFound();
        const { target, wasActive } = revoked;
        if (wasActive)
          await events.emit(tx, EVENTS["cloud_target.revoked"], {
            by: causedBy(context),
            orgUuid: target.orgUuid,
            resourceId: targetId,
            metadata: { install_id: target.installId, provider: target.provider, region: target.region },
          });
        const reason = "its cloud target was revoked by the platform";
        await deprovisioning.beginIfLive(tx, causedBy(context), target.installId, reason);
        return target;
      }),
  };
}
