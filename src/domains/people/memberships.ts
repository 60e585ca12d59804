import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import * as store from "./membership-store.ts";

/** Ids of the roles that exist in every organization. */
export const builtInRoles = { admin: 1, manager: 2, employee: 3, observer: 4, limitedAccess: 5 } as const;

/** Dependencies of memberships. */
export interface MembershipsDeps {
  database: Database;
  clock: Clock;
  events: Pick<Events, "notify" | "notifyEach">;
}

/** Memberships: who belongs to which organization. */
export function createMemberships({ database, clock, events }: MembershipsDeps) {
  async function notifyCreated(tx: Tx, orgUuid: string, userUuid: string, roleId: number): Promise<void> {
    await events.notify(tx, EVENTS["user.created"], {
      orgUuid,
      data: { user_uuid: userUuid, role_id: roleId, is_owner: false, status: "active" },
    });
  }

  return {
    /**
     * Makes somebody owner, with role admin, of an organization that has just been created and has no webhook yet.
     */
    async addOwner(tx: Tx, orgUuid: string, userUuid: string): Promise<void> {
      await store.insertMembership(tx, orgUuid, userUuid, builtInRoles.admin, true, dateOf(clock));
    },

    /**
     * Makes somebody an employee where they never were a member. `active`: they are an active member now; an inactive
     * or removed membership stays as it is.
     */
    async admit(tx: Tx, orgUuid: string, userUuid: string): Promise<{ active: boolean; joined: boolean }> {
      const joined = await store.insertMembership(tx, orgUuid, userUuid, builtInRoles.employee, false, dateOf(clock));
      if (joined) await notifyCreated(tx, orgUuid, userUuid, builtInRoles.employee);
      return { joined, active: joined || (await store.membershipStatus(tx, orgUuid, userUuid)) === "active" };
    },

    /**
     * Makes somebody who was invited a member with a role; a removed membership starts again. Returns false, and
     * changes nothing, for somebody who is a member, active or not.
     */
    async join(tx: Tx, orgUuid: string, userUuid: string, roleId: number): Promise<boolean> {
      const joined = await store.joinMembership(tx, orgUuid, userUuid, roleId, dateOf(clock));
      if (joined) await notifyCreated(tx, orgUuid, userUuid, roleId);
      return joined;
    },

    /** Makes people who have just been created members with a role. */
    async joinAll(tx: Tx, orgUuid: string, userUuids: readonly string[], roleId: number): Promise<void> {
      await Promise.all([
        store.insertMemberships(tx, orgUuid, userUuids, roleId, dateOf(clock)),
        events.notifyEach(
          tx,
          EVENTS["user.created"],
          userUuids.map((uuid) => ({
            orgUuid,
            data: { user_uuid: uuid, role_id: roleId, is_owner: false, status: "active" },
          })),
        ),
      ]);
    },

    /** Whether the person with an address is a member, active or not. */
    async hasMember(tx: Tx, orgUuid: string, emailKey: string): Promise<boolean> {
      const status = await store.membershipStatusByEmail(tx, orgUuid, emailKey);
      return status !== undefined && status !== "removed";
    },

    /** Status of the membership of the person with an address; undefined where there never was one. */
    statusOf: store.membershipStatusByEmail,
    /** The live organizations whose only active owner somebody is. */
    ownedAlone: store.organizationsOwnedAlone,
    /** The same of the person with an address, where nobody has proven it. */
    ownedUnproven: store.organizationsOwnedUnproven,
    /** The live organizations somebody is a member of, active or not, and whether nobody else is an active member. */
    allOf: store.membershipsOf,

    /** Whether somebody is an active member. */
    isActive: async (tx: Tx, orgUuid: string, userUuid: string): Promise<boolean> =>
      (await store.membershipStatus(tx, orgUuid, userUuid)) === "active",
    /** Which of these people are active members. */
    activeOf: (orgUuid: string, userUuids: readonly string[]): Promise<ReadonlySet<string>> =>
      store.activeMembersOf(database, orgUuid, userUuids),
    /** Whether somebody is an active member; if so, they are not removed before the transaction ends. */
    keepActive: store.keepActiveMembership,

    /**
     * The person with an address and the organization they would be signed in to: `orgUuid` where they are an active
     * member, else the one last used. Null for what does not exist.
     */
    wouldEnter: (
      emailKey: string,
      orgUuid: string | null,
    ): Promise<{ userUuid: string | null; orgUuid: string | null }> => store.wouldEnter(database, emailKey, orgUuid),
    /** The organization somebody used last, where they are an active member. */
    lastUsed: store.lastUsedOrganization,
    /** The organizations where somebody is an active member. */
    organizationsOf: store.activeOrganizationsOf,
    /** Whether somebody is a member, active or not, of another organization than this one. */
    belongsElsewhere: store.belongsElsewhere,
    /** Active owners of an organization, the first one first. */
    ownersOf: (orgUuid: string): Promise<{ userUuid: string; email: string }[]> => store.ownersOf(database, orgUuid),
  };
}
