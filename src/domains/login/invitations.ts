import { callerOrg } from "../../platform/caller.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { INVITATIONS_PER_ORGANIZATION, MAILS_PER_EMAIL } from "../../platform/limits/index.ts";
import { isUuid } from "../../platform/value-rules.ts";
import type { RoleRow } from "../access/index.ts";
import { actorOf } from "../audit-record/index.ts";
import { organizationErrors } from "../organizations/index.ts";
import type { LoginDeps } from "./deps.ts";
import { invitationErrors } from "./invitation-errors.ts";
import { invitationMail } from "./invitation-mail.ts";
import * as store from "./invitation-store.ts";
import type { InvitationRow } from "./invitation-store.ts";

/** Invitations as the organization's administrators see them, and as the invited does (decisions 2.6). */
export function createInvitations({
  database,
  clock,
  random,
  audit,
  organizations,
  people,
  access,
  limiter,
  config,
}: LoginDeps) {
  /** Refuses what cannot be invited; returns the role. */
  async function demandInvitable(tx: Tx, caller: Caller, email: Email, roleId: number): Promise<RoleRow> {
    const orgUuid = callerOrg(caller);
    const role = await access.role(tx, orgUuid, roleId);
    access.demandGrantable(caller, role.permissions);
    if (await people.memberships.hasMember(tx, orgUuid, email.key)) throw invitationErrors.memberAlready();
    return role;
  }

  /**
   * The organization's budget first: one that has used it up must not use up those of emails. Throws 429
   * `rate_limited`.
   */
  async function spendBudgets(orgUuid: string, emailKey: string): Promise<void> {
    for (const [budget, subject] of [
      [INVITATIONS_PER_ORGANIZATION, orgUuid],
      [MAILS_PER_EMAIL, emailKey],
    ] as const) {
      const waitMs = (await limiter?.take(budget, subject)) ?? 0;
      if (waitMs > 0) throw errors.rateLimited({ retryAfter: waitMs / 1000 });
    }
  }

  return {
    /**
     * Invites an email with a role; an open invitation of the same email is replaced. Throws 404 `role_not_found`,
     * 403 `forbidden` for a role above the caller's power, 409 `email_taken` for a member, 429 `rate_limited`, 503
     * `unavailable` when mail is off.
     */
    async create(
      caller: Caller,
      request: { email: string; roleId: number },
      info: RequestInfo,
    ): Promise<InvitationRow> {
      const email = parseEmail(request.email);
      if (email === undefined)
        throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      people.mails.demandMail();
      // The budgets count valid tries alone, so these are judged before, and again in the transaction that writes.
      await database.transaction((tx) => demandInvitable(tx, caller, email, request.roleId));
      await spendBudgets(callerOrg(caller), email.key);
      const [uuid, token] = [random.uuid(), random.uuid()];
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.invitationMs)];
      return database.transaction(async (tx) => {
        const org = await organizations.lock(tx, callerOrg(caller));
        if (org === undefined) throw organizationErrors.notFound();
        const role = await demandInvitable(tx, caller, email, request.roleId);
        const { address, key: emailKey } = email;
        const invitedBy = {
          person: caller.userUuid,
          key: caller.principal.type === "api_key" ? caller.principal.id : null,
        };
        await store.replaceInvitation(tx, {
          uuid,
          tokenHash: hashToken(token),
          orgUuid: org.uuid,
          email: address,
          emailKey,
          roleId: role.id,
          invitedBy,
          at,
          expiresAt,
        });
        const letter = {
          url: `${config.baseUrl}/invite?token=${token}`,
          role: role.name,
          invitedBy: caller.email,
          lastsMs: config.invitationMs,
        };
        const write = (organization: string) => invitationMail(organization, letter);
        await people.mails.send(tx, { to: address, organization: org.name, write }, expiresAt);
        const metadata = { email: address, role: role.name, role_id: role.id };
        const resource = { type: "invitation", id: uuid };
        await audit.record(tx, {
          type: "user.invited",
          outcome: "success",
          userUuid: caller.userUuid,
          orgUuid: org.uuid,
          info,
          actor: actorOf(caller),
          resource,
          metadata,
        });
        return {
          uuid,
          org_uuid: org.uuid,
          org_name: org.name,
          email: address,
          email_key: emailKey,
          role_id: role.id,
          role: role.name,
          invited_by: caller.userUuid,
          status: "pending",
          created_at: at,
          expires_at: expiresAt,
        };
      }, caller);
    },

    /** Withdraws the open invitations of somebody whose membership ends, in the transaction of that. */
    async endWithMembership(
      tx: Tx,
      orgUuid: string,
      userUuid: string,
      { caller, info, reason }: { caller: Caller; info: RequestInfo; reason: string },
    ): Promise<void> {
      const invitations = await store.withdrawInvitationsOf(tx, orgUuid, userUuid, dateOf(clock));
      if (invitations === 0) return;
      const metadata = { withdrawn: true, invitations, reason };
      const resource = { type: "user", id: userUuid };
      await audit.record(tx, {
        type: "user.invited",
        outcome: "success",
        userUuid,
        orgUuid,
        info,
        actor: actorOf(caller),
        resource,
        metadata,
      });
    },

    /** Invitations of the caller's organization, newest first. */
    async list(caller: Caller, { limit, offset }: Page): Promise<{ data: InvitationRow[] } & Total> {
      const org = callerOrg(caller);
      const [data, total] = await Promise.all([
        store.invitationsOf(database, org, dateOf(clock), limit, offset),
        store.countInvitations(database, org),
      ]);
      return { data, ...total };
    },

    /** Withdraws an invitation nobody has accepted. Throws 404 `invitation_not_found`. */
    async withdraw(caller: Caller, uuid: string, info: RequestInfo): Promise<void> {
      const org = callerOrg(caller);
      await database.transaction(async (tx) => {
        const email = await store.withdrawInvitation(tx, org, uuid, dateOf(clock));
        if (email === undefined) throw invitationErrors.notFound();
        const resource = { type: "invitation", id: uuid };
        await audit.record(tx, {
          type: "user.invited",
          outcome: "success",
          userUuid: caller.userUuid,
          orgUuid: org,
          info,
          actor: actorOf(caller),
          resource,
          metadata: { email, withdrawn: true },
        });
      }, caller);
    },

    /** What a token invites to. Throws 404 `invitation_not_found`, 400 `invitation_expired`. */
    async show(token: string): Promise<InvitationRow> {
      const found = isUuid(token)
        ? await store.invitationByToken(database, hashToken(token.toLowerCase()), dateOf(clock))
        : undefined;
      return demandOpen(found);
    },
  };
}

/** Invitations to organizations. */
export type Invitations = ReturnType<typeof createInvitations>;

/**
 * Why an invitation cannot be accepted: 404 `invitation_not_found`, 400 `invitation_expired`; undefined when it can.
 */
export function faultOf(invitation: InvitationRow | undefined): ServiceError | undefined {
  if (invitation === undefined || invitation.status === "withdrawn" || invitation.status === "replaced")
    return invitationErrors.notFound();
  return invitation.status === "pending" ? undefined : invitationErrors.expired();
}

/** Refuses an invitation that cannot be accepted; see `faultOf`. */
export function demandOpen(invitation: InvitationRow | undefined): InvitationRow {
  const fault = faultOf(invitation);
  if (fault !== undefined || invitation === undefined) throw fault ?? invitationErrors.notFound();
  return invitation;
}
