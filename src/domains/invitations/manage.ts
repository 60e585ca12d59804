import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { demandGrantable } from "../rbac/index.ts";
import type { RoleRow } from "../rbac/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import { organizationErrors } from "../organizations/index.ts";
import type { InvitationsDeps } from "./deps.ts";
import { invitationErrors } from "./errors.ts";
import { createSending } from "./sending.ts";
import * as store from "./store.ts";
import type { InvitationRow } from "./store.ts";

/** Invitations as administrators of the organization create, list and withdraw them (decisions 2.6). */
export function createManage(deps: InvitationsDeps) {
  const { database, clock, random, events, organizations, people, rbac, config } = deps;
  const { takeFromBudgets, sendMail } = createSending(deps);

  /**
   * The role to invite with.
   * @throws {role_not_found} when the organization has no such role
   * @throws {forbidden} when the role is above the caller's power
   * @throws {email_taken} when the address has a member
   */
  async function demandInvitable(tx: Tx, caller: Caller, email: Email, roleId: number): Promise<RoleRow> {
    const orgUuid = callerOrg(caller);
    const role = await rbac.roles.find(tx, orgUuid, roleId);
    demandGrantable(caller, role.permissions);
    if (await people.memberships.hasMember(tx, orgUuid, email.key)) throw invitationErrors.memberAlready();
    return role;
  }

  return {
    /**
     * Invites an address with a role; an open invitation of the same address is replaced.
     * @throws {role_not_found} when the organization has no such role
     * @throws {forbidden} when the role is above the caller's power
     * @throws {email_taken} when the address has a member
     * @throws {rate_limited} when the budget of the organization or the address is used up
     * @throws {unavailable} when mail is off
     */
    async create(context: CallerContext, request: { email: string; roleId: number }): Promise<InvitationRow> {
      const { caller } = context;
      const email = parseEmail(request.email);
      if (email === undefined)
        throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      people.mails.demandMail();
      // The budgets count valid requests alone, so these checks come first, and again in the transaction that writes.
      await database.transaction((tx) => demandInvitable(tx, caller, email, request.roleId));
      await takeFromBudgets(callerOrg(caller), email.key);
      const [uuid, token] = [random.uuid(), random.uuid()];
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.invitationMs)];
      return context.transaction(async (tx) => {
        const org = await organizations.lock(tx, callerOrg(caller));
        if (org === undefined) throw organizationErrors.notFound();
        const role = await demandInvitable(tx, caller, email, request.roleId);
        await store.replaceInvitation(tx, {
          uuid,
          tokenHash: hashToken(token),
          orgUuid: org.uuid,
          email: email.address,
          emailKey: email.key,
          roleId: role.id,
          invitedBy: senderOf(caller),
          at,
          expiresAt,
        });
        // Again: this has waited for an acceptance of the replaced invitation, which has made a member.
        if (await people.memberships.hasMember(tx, org.uuid, email.key)) throw invitationErrors.memberAlready();
        await sendMail(tx, { email, orgName: org.name, role: role.name, expiresAt }, caller.email, token);
        await events.emit(tx, EVENTS["user.invited"], {
          by: causedBy(context),
          orgUuid: org.uuid,
          resourceId: uuid,
          metadata: { email: email.address, role: role.name, role_id: role.id },
        });
        return {
          uuid,
          orgUuid: org.uuid,
          orgName: org.name,
          email: email.address,
          emailKey: email.key,
          roleId: role.id,
          role: role.name,
          invitedBy: caller.userUuid,
          status: "pending",
          createdAt: at,
          expiresAt,
        };
      });
    },

    /** Invitations of the caller's organization, newest first. */
    async list({ caller }: CallerContext, page: Page): Promise<{ data: InvitationRow[] } & Total> {
      const org = callerOrg(caller);
      const { rows, ...total } = await store.invitationsOf(database, org, dateOf(clock), page);
      return { data: rows, ...total };
    },

    /**
     * Withdraws an invitation that nobody has accepted.
     * @throws {invitation_not_found} when the caller's organization has no such open invitation
     */
    async withdraw(context: CallerContext, uuid: string): Promise<void> {
      const orgUuid = callerOrg(context.caller);
      await context.transaction(async (tx) => {
        const email = await store.withdrawInvitation(tx, orgUuid, uuid, dateOf(clock));
        if (email === undefined) throw invitationErrors.notFound();
        await events.emit(tx, EVENTS["user.invited"], {
          by: causedBy(context),
          orgUuid,
          resourceId: uuid,
          metadata: { email, withdrawn: true },
        });
      });
    },
  };
}

/** Who sends an invitation, as its row names them. */
function senderOf({ principal: { type, id }, userUuid }: Caller) {
  const isIdentity = type === "automation_token" || type === "svid";
  return { person: userUuid, key: type === "api_key" ? id : null, identity: isIdentity ? id : null };
}
