import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { EVENTS } from "../event-catalogue/index.ts";
import type { Cause } from "../event-catalogue/index.ts";
import type { OrganizationRow } from "../organizations/index.ts";
import type { OffboardingDeps } from "./deps.ts";

type Deps = Pick<
  OffboardingDeps,
  | "clock"
  | "events"
  | "organizations"
  | "sessions"
  | "credentials"
  | "serviceIdentities"
  | "marketplace"
  | "billing"
  | "mtlsCa"
  | "vault"
>;

/** The end of organizations (decisions 2.9). */
export function createOrganizationEnd(deps: Deps) {
  const {
    clock,
    events,
    organizations,
    sessions,
    credentials,
    serviceIdentities,
    marketplace,
    billing,
    mtlsCa,
    vault,
  } = deps;

  /**
   * Ends a locked organization with everything in it. Its webhooks receive that event and none of what follows.
   *
   * Whoever writes locks a row, then the webhooks that receive the event, then what the caller depends on. Here
   * webhooks and callers have to end before the rows, so that none is created afterwards; hence the rows are locked
   * first.
   */
  async function endLocked(tx: Tx, { uuid, name }: OrganizationRow, by: Cause): Promise<void> {
    const ended = EVENTS["organization.deleted"];
    await serviceIdentities.lockForEnd(tx, uuid);
    await mtlsCa.authorities.lockForEnd(tx, uuid);
    await marketplace.lockForEnd(tx, uuid);
    await vault.lockForEnd(tx, uuid);
    await events.notify(tx, ended, { orgUuid: uuid, data: { org_uuid: uuid, name } });
    await organizations.remove(tx, uuid, dateOf(clock));
    await sessions.ending.ofOrganization(tx, uuid, { by, reason: "organization_deleted" });
    await credentials.manage.endWithOrganization(tx, uuid);
    await serviceIdentities.endWithOrganization(tx, uuid);
    await mtlsCa.authorities.endWithOrganization(tx, uuid);
    await marketplace.organizationEnds(tx, uuid, by);
    await billing.ending.organizationEnds(tx, uuid, by);
    await vault.endWithOrganization(tx, uuid);
    await events.emit(tx, ended, { by, orgUuid: uuid, resourceId: uuid, metadata: { name } });
  }

  return {
    endLocked,

    /** Ends the organization of an account that ends. */
    async end(tx: Tx, orgUuid: string, by: Cause): Promise<void> {
      const org = await organizations.lock(tx, orgUuid);
      if (org !== undefined) await endLocked(tx, org, by);
    },
  };
}
