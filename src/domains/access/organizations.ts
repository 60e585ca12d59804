import { callerOrg } from "../../platform/caller.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { actorOf } from "../audit-record/index.ts";
import { organizationErrors } from "../organizations/index.ts";
import type { OrganizationChange, OrganizationRow } from "../organizations/index.ts";
import type { AdministrationDeps } from "./administration.ts";
import { accessErrors } from "./errors.ts";
import { takeTurn } from "./turn.ts";

const mostDomains = 100;

/** A change of an organization; absent members stay. */
export interface OrganizationWish {
  name?: string | undefined;
  plan?: string | undefined;
  /** Mail domains whose people may join by magic link, as they were sent. */
  jitDomains?: readonly unknown[] | undefined;
}

/** Changes of organizations, and their end (decisions 2.5, 2.9). */
export function createOrganizations({
  database,
  clock,
  audit,
  announce,
  organizations,
  access,
  ending,
  whenDeleted,
}: AdministrationDeps) {
  /** Ends a locked organization with everything in it. */
  async function end(tx: Tx, { uuid, name }: OrganizationRow, caller: Caller, info: RequestInfo): Promise<void> {
    await announce(tx, { type: "organization.deleted", orgUuid: uuid, data: { org_uuid: uuid, name } });
    await organizations.remove(tx, uuid, dateOf(clock));
    // Its webhooks hear of the sessions, so they end after them.
    await ending.ofOrganization(tx, uuid, { caller, info, reason: "organization_deleted" });
    for (const react of whenDeleted) await react(tx, uuid, caller, info);
    const resource = { type: "organization", id: uuid };
    await audit.record(tx, {
      type: "organization.deleted",
      outcome: "success",
      userUuid: caller.userUuid,
      orgUuid: uuid,
      info,
      actor: actorOf(caller),
      resource,
      metadata: { name },
    });
  }

  return {
    /**
     * Changes an organization: its name and mail domains by its administrators, the plan of any by platform admins.
     * Throws 403 `forbidden`, 404 `not_found`, 400 `invalid_plan`, `validation_error`, 409 `conflict` for a name in
     * use.
     */
    async update(
      caller: Caller,
      orgUuid: string,
      wish: OrganizationWish,
      info: RequestInfo,
    ): Promise<OrganizationRow & { entitlements: string[] }> {
      const uuid = orgUuid.toLowerCase();
      demandMayChange(caller, uuid, wish);
      const change: OrganizationChange = {
        name: wish.name,
        plan: wish.plan,
        jitDomains: wish.jitDomains === undefined ? undefined : readDomains(wish.jitDomains),
      };
      const changed = await database.transaction(async (tx) => {
        const before = await organizations.lock(tx, uuid);
        if (before === undefined) throw organizationErrors.notFound();
        if (change.plan !== undefined && !(await organizations.planExists(tx, change.plan)))
          throw accessErrors.invalidPlan();
        const after = await organizations.change(tx, before, change, dateOf(clock));
        if (after === before) return before;
        const metadata = { before: stateOf(before), after: stateOf(after) };
        const resource = { type: "organization", id: uuid };
        await audit.record(tx, {
          type: "organization.updated",
          outcome: "success",
          userUuid: caller.userUuid,
          orgUuid: uuid,
          info,
          actor: actorOf(caller),
          resource,
          metadata,
        });
        return after;
      }, caller);
      return access.entitled(changed);
    },

    /**
     * Ends the caller's organization: every session and token of it is refused from the next request on, and its names
     * stay taken. Throws 404 `not_found`, 401 `unauthorized` for an owner who was removed while waiting for their turn.
     */
    async remove(caller: Caller, info: RequestInfo): Promise<void> {
      await database.transaction(
        async (tx) => end(tx, await takeTurn(tx, organizations, caller), caller, info),
        caller,
      );
    },

    /** Ends the organization of an account that ends; `caller` stands for the account. */
    async end(tx: Tx, caller: Caller, info: RequestInfo): Promise<void> {
      const org = await organizations.lock(tx, callerOrg(caller));
      if (org !== undefined) await end(tx, org, caller, info);
    },
  };
}

/** Who may change what: administrators their own organization but for the plan, platform admins the plan of any. */
function demandMayChange(caller: Caller, uuid: string, wish: OrganizationWish): void {
  const own = caller.orgUuid === uuid;
  if (!own && (wish.plan === undefined || wish.name !== undefined || wish.jitDomains !== undefined))
    throw accessErrors.foreignPlanOnly();
  if (wish.plan !== undefined && !caller.isPlatformAdmin) throw accessErrors.planForPlatform();
}

/** Mail domains as they are kept: lower case, IDNA encoded, each once. Throws `validation_error`. */
function readDomains(given: readonly unknown[]): string[] {
  if (given.length > mostDomains)
    throw errors.validation({
      fields: [{ field: "jit_domains", code: "too_many", message: `must have at most ${mostDomains} items` }],
    });
  const domains = given.map((text) => (typeof text === "string" ? parseEmail(`x@${text.trim()}`)?.domain : undefined));
  const fields = domains.flatMap((domain, at) =>
    domain?.includes(".") === true
      ? []
      : [{ field: `jit_domains[${at}]`, code: "format", message: "must be a mail domain" }],
  );
  if (fields.length > 0) throw errors.validation({ fields });
  return [...new Set(domains.filter((domain) => domain !== undefined))];
}

/** What the audit log says of an organization. */
function stateOf({ name, plan, jit_domains }: OrganizationRow) {
  return { name, plan, jit_domains };
}
