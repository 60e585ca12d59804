import type { Caller } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Tx } from "../../platform/db/types.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Cause } from "../event-catalogue/index.ts";
import { covers } from "../rbac/index.ts";
import type { ServiceIdentitiesDeps } from "./deps.ts";
import { identityErrors } from "./errors.ts";
import * as store from "./identity-store.ts";
import type { IdentityRow } from "./identity-store.ts";
import { MAX_SHOWN_SVIDS, REVOKED_AT_ONCE } from "./rules.ts";
import { activeSvidsOf, revokeSvidsOf } from "./svid-store.ts";
import type { SvidRow } from "./svid-store.ts";
import { revokeTokensOf } from "./token-store.ts";

/** A change of an identity; absent members stay. */
export interface IdentityChange {
  name?: string | undefined;
  description?: string | undefined;
  roleId?: number | undefined;
}

/** Service identities (decisions 7.7). */
export function createIdentities({ database, clock, random, events, rbac, credentials }: ServiceIdentitiesDeps) {
  /**
   * Checks that a caller may give a role to an identity.
   * @throws {invalid_role} when the organization has no such role
   * @throws {forbidden} when the role goes beyond the caller's present power
   */
  async function demandRole(tx: Tx, caller: Caller, orgUuid: string, roleId: number): Promise<void> {
    const role = await rbac.roles.ofOrganization(tx, orgUuid, roleId);
    if (role === undefined) throw identityErrors.invalidRole();
    if (!covers(caller, role.permissions)) throw identityErrors.beyondPower();
  }

  /** Revokes the SVIDs of an identity that has ended; returns their number. */
  async function revokeSvids(tx: Tx, by: Cause, orgUuid: string, identityId: string): Promise<number> {
    for (let total = 0; ; ) {
      const revoked = await revokeSvidsOf(tx, identityId, dateOf(clock), REVOKED_AT_ONCE);
      const happened = revoked.map(({ svidId, spiffeId, serial }) => ({
        by,
        orgUuid,
        resourceId: svidId,
        metadata: { svid_id: svidId, spiffe_id: spiffeId, identity_id: identityId, serial, reason: "identity_deleted" },
        data: { svid_id: svidId, spiffe_id: spiffeId },
      }));
      await events.emitEach(tx, EVENTS["svid.revoked"], happened);
      total += revoked.length;
      if (revoked.length < REVOKED_AT_ONCE) return total;
    }
  }

  return {
    demandRole,

    /** Living identities of an organization, newest first. */
    list: (orgUuid: string, page: Page) => store.identitiesOf(database, orgUuid, dateOf(clock), page),

    /**
     * A living identity, and the newest of its active SVIDs.
     * @throws {not_found} when there is none
     */
    async get(orgUuid: string, identityId: string): Promise<{ identity: IdentityRow; svids: SvidRow[] }> {
      const at = dateOf(clock);
      const identity = await store.findIdentity(database, orgUuid, identityId, at);
      if (identity === undefined) throw identityErrors.notFound();
      return { identity, svids: await activeSvidsOf(database, identityId, at, MAX_SHOWN_SVIDS) };
    },

    /**
     * Creates an identity.
     * @throws {invalid_role} when the organization has no such role
     * @throws {forbidden} when the role goes beyond the caller's present power
     * @throws {name_taken} when a living identity of the organization has the name
     */
    async create(
      context: CallerContext,
      orgUuid: string,
      { name, description, roleId }: { name: string; description: string | undefined; roleId: number },
    ): Promise<IdentityRow> {
      const identity = { name, description: description ?? null, roleId };
      return context.transaction(async (tx) => {
        await demandRole(tx, context.caller, orgUuid, roleId);
        const made = { identityId: random.uuid(), ...identity, createdAt: dateOf(clock) };
        if (!(await store.insertIdentity(tx, orgUuid, made))) throw identityErrors.nameTaken();
        await events.emit(tx, EVENTS["service_identity.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: made.identityId,
          metadata: { identity_id: made.identityId, name, role_id: roleId },
        });
        return { ...made, lastAuthAt: null, svidCount: 0 };
      });
    },

    /**
     * Changes an identity. A change of role is in force with the next request of its credentials.
     * @throws {invalid_role} when the organization has no such role
     * @throws {forbidden} when the role goes beyond the caller's present power
     * @throws {not_found} when there is no such living identity
     * @throws {name_taken} when another living identity of the organization has the name
     */
    update: (
      context: CallerContext,
      orgUuid: string,
      identityId: string,
      { name, description, roleId }: IdentityChange,
    ): Promise<IdentityRow> =>
      context.transaction(async (tx) => {
        if (roleId !== undefined) await demandRole(tx, context.caller, orgUuid, roleId);
        const at = dateOf(clock);
        const before = await store.lockIdentity(tx, orgUuid, identityId, at);
        if (before === undefined) throw identityErrors.notFound();
        const after = {
          ...before,
          name: name ?? before.name,
          description: description ?? before.description,
          roleId: roleId ?? before.roleId,
        };
        if (!(await store.updateIdentity(tx, orgUuid, after, at))) throw identityErrors.nameTaken();
        await events.emit(tx, EVENTS["service_identity.updated"], {
          by: causedBy(context),
          orgUuid,
          resourceId: identityId,
          metadata: { identity_id: identityId, before: shown(before), after: shown(after) },
        });
        return after;
      }),

    /**
     * Ends an identity with its automation tokens, SVIDs and the API keys it made; its name is free from then on.
     * @throws {not_found} when there is no such living identity
     */
    delete: (context: CallerContext, orgUuid: string, identityId: string): Promise<void> =>
      context.transaction(async (tx) => {
        const at = dateOf(clock);
        const name = await store.endIdentity(tx, orgUuid, identityId, at);
        if (name === undefined) throw identityErrors.notFound();
        const tokens = await revokeTokensOf(tx, identityId, at);
        const by = causedBy(context);
        const svids = await revokeSvids(tx, by, orgUuid, identityId);
        await credentials.ending.keysOfIdentity(tx, orgUuid, identityId, { reason: "identity_deleted", by });
        await events.emit(tx, EVENTS["service_identity.deleted"], {
          by,
          orgUuid,
          resourceId: identityId,
          metadata: { identity_id: identityId, name, revoked_tokens: tokens, revoked_svids: svids },
        });
      }),
  };
}

/** Service identities as other use cases of this domain need them. */
export type Identities = ReturnType<typeof createIdentities>;

/** What the audit log shows of an identity. */
function shown({ name, description, roleId }: IdentityRow) {
  return { name, description, role_id: roleId };
}
