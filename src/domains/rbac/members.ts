import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext, RequestContext } from "../../platform/context.ts";
import { pagingBy } from "../../platform/cursors.ts";
import type { Cursors } from "../../platform/cursors.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Total } from "../../platform/db/total.ts";
import { parseEmail } from "../../platform/email.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Cause, EndedBy, Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import { builtInRoles } from "../people/index.ts";
import type { People } from "../people/index.ts";
import { rbacErrors } from "./errors.ts";
import { eventOf, nextMembership } from "./member-rules.ts";
import type { MembershipWish } from "./member-rules.ts";
import * as store from "./member-store.ts";
import type { MemberRow, MembershipState } from "./member-store.ts";
import { lockOwnOrganization } from "./organization-lock.ts";
import { demandGrantable } from "./permissions.ts";
import { roleOf } from "./role-store.ts";

/** Dependencies of members. */
export interface MembersDeps {
  database: Database;
  clock: Clock;
  cursors: Cursors;
  events: Pick<Events, "emit">;
  organizations: Pick<Organizations, "lock">;
  people: Pick<People, "lock">;
}

/** Which members to list, as a request says it; empty texts stand for no filter. */
export interface MemberQuery {
  email?: string | undefined;
  status?: string | undefined;
  userUuid?: string | undefined;
  roleId?: number | undefined;
}

/** A caller and where the request came from, as events name them. */
export type Origin = { readonly caller: Caller } & Pick<RequestContext, "info">;

/** Members of organizations and their roles (decisions 2.4). */
export function createMembers({ database, clock, cursors, events, organizations, people }: MembersDeps) {
  /**
   * A member of the caller's organization, which is locked; the person is locked too, so that no session opens at the
   * same time.
   */
  async function lock(tx: Tx, caller: Caller, userUuid: string): Promise<MemberRow> {
    const { uuid: orgUuid } = await lockOwnOrganization(tx, organizations, caller);
    await people.lock(tx, userUuid);
    const member = await store.memberIn(tx, orgUuid, userUuid);
    if (member === undefined) throw rbacErrors.userNotFound();
    return member;
  }

  /** What a locked membership becomes by a wish; see {@link nextMembership}. */
  async function next(
    tx: Tx,
    caller: Caller,
    member: MemberRow,
    wish: MembershipWish,
  ): Promise<MembershipState | undefined> {
    return nextMembership(caller, member, wish, await store.otherOwners(tx, callerOrg(caller), member.userUuid));
  }

  /** Records what a membership has become, and why where that is not plain; returns it, undefined once removed. */
  async function record(
    tx: Tx,
    by: Cause,
    orgUuid: string,
    member: MemberRow,
    state: MembershipState,
    reason?: string,
  ): Promise<MemberRow | undefined> {
    const after = await store.memberIn(tx, orgUuid, member.userUuid);
    const shown = { ...stateOf(after ?? member), is_owner: state.isOwner, status: state.status };
    await events.emit(tx, EVENTS[eventOf(member, state)], {
      by,
      orgUuid,
      userUuid: member.userUuid,
      resourceId: member.userUuid,
      metadata: {
        before: stateOf(member),
        ...(after !== undefined && { after: stateOf(after) }),
        ...(reason !== undefined && { reason }),
      },
      data: { user_uuid: member.userUuid, email: member.email, ...shown },
    });
    return after;
  }

  /** Writes a locked membership; access tokens issued before are refused from then on. */
  const write = (tx: Tx, orgUuid: string, member: MemberRow, state: MembershipState): Promise<void> =>
    store.changeMembership(tx, orgUuid, member.userUuid, state, dateOf(clock));

  return {
    lock,
    next,
    write,
    record,
    lockOwnOrganization: (tx: Tx, caller: Caller) => lockOwnOrganization(tx, organizations, caller),

    /** A member, active or not; undefined for anybody else. */
    find: store.memberIn,

    /**
     * Gives a locked organization an owner where it has no active one any more: the active member with the role admin
     * who joined first, else the active member who joined first. Their older access tokens are refused from then on.
     */
    async passOwnership(tx: Tx, orgUuid: string, { by, reason }: EndedBy): Promise<void> {
      if (await store.hasOwner(tx, orgUuid)) return;
      const userUuid = await store.successorIn(tx, orgUuid);
      if (userUuid === undefined) return;
      await people.lock(tx, userUuid);
      const member = await store.memberIn(tx, orgUuid, userUuid);
      if (member === undefined) return;
      const state: MembershipState = { roleId: builtInRoles.admin, isOwner: true, status: "active" };
      await write(tx, orgUuid, member, state);
      await record(tx, by, orgUuid, member, state, reason);
    },

    /** A page of the caller's organization by email; of one address, status, person and role where they are given. */
    async list(
      { caller }: CallerContext,
      wanted: MemberQuery,
      page: Page,
    ): Promise<{ data: MemberRow[]; nextCursor?: string } & Total> {
      const orgUuid = callerOrg(caller);
      const { email, status, userUuid, roleId } = wanted;
      const emailKey = email ? (parseEmail(email)?.key ?? "") : undefined;
      const filter = { emailKey, status: status || undefined, userUuid: userUuid || undefined, roleId, q: page.q };
      const paging = pagingBy(cursors, ["members", orgUuid, emailKey, status, userUuid, roleId], page);
      const [members, total] = await Promise.all([
        store.membersOf(database, orgUuid, filter, page, paging),
        store.countMembers(database, orgUuid, filter),
      ]);
      return { ...members, ...total };
    },

    /**
     * Gives a member another role, by id or name; their older access tokens are refused from then on.
     * @throws {user_not_found} when the organization has no such member
     * @throws {role_not_found} when the organization has no such role
     * @throws {forbidden} for a role above the caller's power, and for owners
     * @throws {last_owner} when no owner would be left
     */
    async assignRole(context: CallerContext, userUuid: string, idOrName: number | string): Promise<void> {
      const { caller } = context;
      await context.transaction(async (tx) => {
        const member = await lock(tx, caller, userUuid);
        const role = await roleOf(tx, callerOrg(caller), idOrName);
        if (role === undefined) throw rbacErrors.roleNotFound();
        demandGrantable(caller, role.permissions);
        const state = await next(tx, caller, member, { roleId: role.id });
        if (state === undefined) return;
        await write(tx, callerOrg(caller), member, state);
        await record(tx, causedBy(context), callerOrg(caller), member, state);
      });
    },
  };
}

/** Members as other domains use them. */
export type Members = ReturnType<typeof createMembers>;

/** What the audit log shows of a membership. */
function stateOf({ role, roleId, isOwner, status }: MemberRow) {
  return { role, role_id: roleId, is_owner: isOwner, status };
}
