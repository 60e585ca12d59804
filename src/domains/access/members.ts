import { callerOrg } from "../../platform/caller.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { actorOf } from "../audit-record/index.ts";
import type { AdministrationDeps } from "./administration.ts";
import { accessErrors } from "./errors.ts";
import { demandOwnership, eventOf, nextMembership } from "./member-rules.ts";
import type { MembershipWish } from "./member-rules.ts";
import * as store from "./member-store.ts";
import type { MemberRow } from "./member-store.ts";
import { takeTurn } from "./turn.ts";

/** Members of the caller's organization (decisions 2.4). */
export function createMembers({
  database,
  clock,
  audit,
  announce,
  organizations,
  people,
  access,
  ending,
  whenEnded,
}: AdministrationDeps) {
  /**
   * A member of the caller's organization, in the caller's turn; the person is locked too, so that no session opens
   * beside the change.
   */
  async function locked(tx: Tx, caller: Caller, userUuid: string): Promise<MemberRow> {
    const { uuid: orgUuid } = await takeTurn(tx, organizations, caller);
    await people.lock(tx, userUuid);
    const member = await store.memberIn(tx, orgUuid, userUuid);
    if (member === undefined) throw accessErrors.userNotFound();
    return member;
  }

  /** Makes a membership what is wished; answers it, undefined once removed. */
  async function change(
    tx: Tx,
    caller: Caller,
    member: MemberRow,
    wish: MembershipWish,
    info: RequestInfo,
    others?: number,
  ): Promise<MemberRow | undefined> {
    const org = callerOrg(caller);
    const next = nextMembership(caller, member, wish, others ?? (await store.otherOwners(tx, org, member.user_uuid)));
    if (next === undefined) return member;
    const ended = next.status === member.status || next.status === "active" ? undefined : next.status;
    const by = { caller, info, reason: `membership_${next.status}` };
    // Whoever writes for a caller locks first what is written, and last what the caller stands on; so does what ends
    // that.
    if (ended !== undefined) for (const react of whenEnded) await react(tx, org, member.user_uuid, ended, by);
    await store.changeMembership(tx, org, member.user_uuid, next, dateOf(clock));
    if (ended !== undefined) await ending.ofMember(tx, org, member.user_uuid, by);
    const after = await store.memberIn(tx, org, member.user_uuid);
    const type =
      next.status === "removed" ? "user.removed" : next.roleId === member.role_id ? "user.updated" : "role.assigned";
    const metadata = { before: stateOf(member), ...(after === undefined ? {} : { after: stateOf(after) }) };
    const resource = { type: "user", id: member.user_uuid };
    await audit.record(tx, {
      type,
      outcome: "success",
      userUuid: member.user_uuid,
      orgUuid: org,
      info,
      actor: actorOf(caller),
      resource,
      metadata,
    });
    const state = { ...stateOf(after ?? member), is_owner: next.isOwner, status: next.status };
    await announce(tx, {
      type: eventOf(member, next),
      orgUuid: org,
      data: { user_uuid: member.user_uuid, email: member.email, ...state },
    });
    return after;
  }

  return {
    /**
     * A member, row locked in the caller's turn, for what other domains change of them. Throws 404 `user_not_found`.
     */
    hold: locked,

    /** A page of members by email; by the address that is given, and by status. */
    async list(
      caller: Caller,
      { email, status }: { email?: string | undefined; status?: string | undefined },
      page: Page,
    ): Promise<{ data: MemberRow[]; total: number }> {
      const org = callerOrg(caller);
      const emailKey = email ? (parseEmail(email)?.key ?? "") : undefined;
      const filter = { emailKey, status: status || undefined };
      const [data, total] = await Promise.all([
        store.membersOf(database, org, filter, page),
        store.countMembers(database, org, filter),
      ]);
      return { data, total };
    },

    /**
     * Gives a member another role, by id or name; older access tokens of theirs are refused from then on. Throws 404
     * `user_not_found`, `role_not_found`, 403 `forbidden` for a role above the caller's power and for owners, 409
     * `last_owner`.
     */
    async setRole(caller: Caller, userUuid: string, wanted: number | string, info: RequestInfo): Promise<void> {
      await database.transaction(async (tx) => {
        const member = await locked(tx, caller, userUuid);
        const role = await access.role(tx, callerOrg(caller), wanted);
        access.demandGrantable(caller, role.permissions);
        await change(tx, caller, member, { roleId: role.id }, info);
      }, caller);
    },

    /**
     * Changes status and ownership; sessions, API keys and open invitations of a member who is made inactive end at
     * once. Throws 403 `forbidden`, `step_up_required`, 404 `user_not_found`, 409 `last_owner`, `conflict` for an owner
     * who would be inactive.
     */
    async update(
      caller: Caller,
      userUuid: string,
      wish: { status?: "active" | "inactive" | undefined; isOwner?: boolean | undefined },
      info: RequestInfo,
    ): Promise<MemberRow> {
      if (wish.isOwner !== undefined) demandOwnership(caller);
      return database.transaction(async (tx) => {
        const member = await locked(tx, caller, userUuid);
        return (await change(tx, caller, member, wish, info)) ?? member;
      }, caller);
    },

    /**
     * Removes a member and ends their sessions, API keys and open invitations at once. Throws 404 `user_not_found`, 403
     * `forbidden` for owners, 409 `last_owner`.
     */
    async remove(caller: Caller, userUuid: string, info: RequestInfo): Promise<void> {
      await database.transaction(async (tx) => {
        const member = await locked(tx, caller, userUuid);
        await change(tx, caller, member, { status: "removed" }, info);
      }, caller);
    },

    /**
     * Ends the membership of an account that ends, also that of the last owner: who does not exist owns nothing. The
     * person's row must be locked; `caller` stands for the account.
     */
    async end(tx: Tx, caller: Caller, userUuid: string, info: RequestInfo): Promise<void> {
      const orgUuid = callerOrg(caller);
      if ((await organizations.lock(tx, orgUuid)) === undefined) return;
      const member = await store.memberIn(tx, orgUuid, userUuid);
      if (member !== undefined) await change(tx, caller, member, { status: "removed" }, info, Infinity);
    },
  };
}

/** What the audit log says of a membership. */
function stateOf({ role, role_id, is_owner, status }: MemberRow) {
  return { role, role_id, is_owner, status };
}
