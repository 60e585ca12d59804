import { callerOrg } from "../../platform/caller.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Page } from "../../platform/db/paging.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { isUuid } from "../../platform/value-rules.ts";
import { actorOf } from "../audit/index.ts";
import { orgErrors } from "../orgs/index.ts";
import type { SigninDeps } from "./deps.ts";
import { invitationErrors } from "./invitation-errors.ts";
import { invitationMail } from "./invitation-mail.ts";
import * as store from "./invitation-store.ts";
import type { InvitationRow } from "./invitation-store.ts";

/** Invitations as the organization's administrators see them, and as the invited does (decisions 2.6). */
export function createInvitations({ database, clock, random, post, audit, orgs, users, access, config }: SigninDeps) {
  return {
    /**
     * Invites an email with a role; an open invitation of the same email is replaced. Throws 404 `role_not_found`,
     * 403 `forbidden` for a role above the caller's power, 409 `email_taken` for a member.
     */
    async create(caller: Caller, request: { email: string; roleId: number }, info: RequestInfo): Promise<InvitationRow> {
      const email = parseEmail(request.email);
      if (email === undefined) throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      const [uuid, token] = [random.uuid(), random.uuid()];
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.invitationMs)];
      return database.transaction(async (tx) => {
        const org = await orgs.lock(tx, callerOrg(caller));
        if (org === undefined) throw orgErrors.notFound();
        const role = await access.role(tx, org.uuid, request.roleId);
        access.demandGrantable(caller, role.permissions);
        if (await users.memberships.hasMember(tx, org.uuid, email.key)) throw invitationErrors.memberAlready();
        const { address, key: emailKey } = email;
        await store.replaceInvitation(tx, { uuid, tokenHash: hashToken(token), orgUuid: org.uuid, email: address, emailKey, roleId: role.id, invitedBy: caller.userUuid, at, expiresAt });
        const letter = { to: address, baseUrl: config.baseUrl, token, orgName: org.name, role: role.name, invitedBy: caller.email, lastsMs: config.invitationMs };
        await post.enqueue(tx, invitationMail(letter), expiresAt);
        const metadata = { email: address, role: role.name, role_id: role.id };
        const resource = { type: "invitation", id: uuid };
        await audit.record(tx, { type: "user.invited", outcome: "success", userUuid: caller.userUuid, orgUuid: org.uuid, info, actor: actorOf(caller), resource, metadata });
        return {
          uuid, org_uuid: org.uuid, org_name: org.name, email: address, email_key: emailKey, role_id: role.id, role: role.name,
          invited_by: caller.userUuid, status: "pending", created_at: at, expires_at: expiresAt,
        };
      }, caller);
    },

    /** Invitations of the caller's organization, newest first. */
    async list(caller: Caller, { limit, offset }: Page): Promise<{ data: InvitationRow[]; total: number }> {
      const org = callerOrg(caller);
      const [data, total] = await Promise.all([store.invitationsOf(database, org, dateOf(clock), limit, offset), store.countInvitations(database, org)]);
      return { data, total };
    },

    /** Withdraws an invitation nobody has accepted. Throws 404 `invitation_not_found`. */
    async withdraw(caller: Caller, uuid: string, info: RequestInfo): Promise<void> {
      const org = callerOrg(caller);
      await database.transaction(async (tx) => {
        const email = await store.withdrawInvitation(tx, org, uuid, dateOf(clock));
        if (email === undefined) throw invitationErrors.notFound();
        const resource = { type: "invitation", id: uuid };
        await audit.record(tx, { type: "user.invited", outcome: "success", userUuid: caller.userUuid, orgUuid: org, info, actor: actorOf(caller), resource, metadata: { email, withdrawn: true } });
      }, caller);
    },

    /** What a token invites to. Throws 404 `invitation_not_found`, 400 `invitation_expired`. */
    async show(token: string): Promise<InvitationRow> {
      const found = isUuid(token) ? await store.invitationByToken(database, hashToken(token.toLowerCase()), dateOf(clock)) : undefined;
      return demandOpen(found);
    },
  };
}

/** Invitations to organizations. */
export type Invitations = ReturnType<typeof createInvitations>;

/** Why an invitation cannot be accepted: 404 `invitation_not_found`, 400 `invitation_expired`; undefined when it can. */
export function faultOf(invitation: InvitationRow | undefined): ServiceError | undefined {
  if (invitation === undefined || invitation.status === "withdrawn" || invitation.status === "replaced") return invitationErrors.notFound();
  return invitation.status === "pending" ? undefined : invitationErrors.expired();
}

/** Refuses an invitation that cannot be accepted; see `faultOf`. */
export function demandOpen(invitation: InvitationRow | undefined): InvitationRow {
  const fault = faultOf(invitation);
  if (fault !== undefined || invitation === undefined) throw fault ?? invitationErrors.notFound();
  return invitation;
}
