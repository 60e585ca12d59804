import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { OrganizationRow } from "../organizations/index.ts";
import type { Origin } from "../rbac/index.ts";
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
  | "mtlsCa"
  | "vault"
>;

/** The end of organizations (decisions 2.9). */
export function createOrganizationEnd(deps: Deps) {
  const { clock, events, organizations, sessions, credentials, serviceIdentities, marketplace, mtlsCa, vault } = deps;

  /** Ends a locked organization with everything in it. Its webhooks receive that event and none of what follows. */
  async function endLocked(tx: Tx, { uuid, name }: OrganizationRow, { caller, info }: Origin): Promise<void> {
    const ended = EVENTS["organization.deleted"];
    const by = { caller, info, reason: "organization_deleted" };
    await events.notify(tx, ended, { orgUuid: uuid, data: { org_uuid: uuid, name } });
    await organizations.remove(tx, uuid, dateOf(clock));
    await sessions.ending.ofOrganization(tx, uuid, by);
    await credentials.manage.endWithOrganization(tx, uuid);
    await serviceIdentities.endWithOrganization(tx, uuid);
    await mtlsCa.authorities.endWithOrganization(tx, uuid);
    await marketplace.organizationEnds(tx, uuid, { caller, info });
    await vault.endWithOrganization(tx, uuid);
    await events.emit(tx, ended, { by: causedBy(by), orgUuid: uuid, resourceId: uuid, metadata: { name } });
  }

  return {
    endLocked,

    /** Ends the organization of an account that ends; `caller` stands for the account. */
    async end(tx: Tx, caller: Caller, info: RequestInfo): Promise<void> {
      const org = await organizations.lock(tx, callerOrg(caller));
      if (org !== undefined) await endLocked(tx, org, { caller, info });
    },
  };
}
