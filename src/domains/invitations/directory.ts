import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { OrganizationRow } from "../organizations/index.ts";
import { builtInRoles } from "../people/index.ts";
import type { InvitationsDeps } from "./deps.ts";
import { createSending } from "./sending.ts";
import * as store from "./store.ts";

/** Invitations that an organization's directory sends by SCIM to people who are known elsewhere (decisions 8.8). */
export function createDirectoryInvitations(deps: InvitationsDeps) {
  const { clock, random, events, people, config } = deps;
  const { takeFromBudgets, sendMail } = createSending(deps);

  async function record(tx: Tx, context: CallerContext, orgUuid: string, id: string, metadata: object): Promise<void> {
    const by = causedBy(context);
    await events.emit(tx, EVENTS["user.invited"], { by, orgUuid, resourceId: id, metadata: { ...metadata } });
  }

  return {
    /**
     * Takes one invitation from the budgets; before the transaction that sends it.
     * @throws {rate_limited} when the budget of the organization or the address is used up
     * @throws {unavailable} when mail is off
     */
    async takeBudget(orgUuid: string, emailKey: string): Promise<void> {
      people.mails.demandMail();
      await takeFromBudgets(orgUuid, emailKey);
    },

    /** Invites an address to a locked organization as an employee; an open invitation of it is replaced. */
    async invite(tx: Tx, context: CallerContext, org: OrganizationRow, email: Email): Promise<void> {
      const [uuid, token] = [random.uuid(), random.uuid()];
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.invitationMs)];
      const roleId = builtInRoles.employee;
      await store.replaceInvitation(tx, {
        uuid,
        tokenHash: hashToken(token),
        orgUuid: org.uuid,
        email: email.address,
        emailKey: email.key,
        roleId,
        invitedBy: { person: null, key: null },
        byScim: true,
        at,
        expiresAt,
      });
      await sendMail(tx, { email, orgName: org.name, role: "employee", expiresAt }, null, token);
      await record(tx, context, org.uuid, uuid, { email: email.address, role: "employee", role_id: roleId });
    },

    /** Withdraws the open invitation the directory sent to an address, if there is one. */
    async withdraw(tx: Tx, context: CallerContext, orgUuid: string, email: Email): Promise<void> {
      const uuid = await store.withdrawInvitationOf(tx, orgUuid, email.key, dateOf(clock));
      if (uuid !== undefined) await record(tx, context, orgUuid, uuid, { email: email.address, withdrawn: true });
    },

    /** Whether an address has an open invitation. */
    isOpen: (tx: Tx, orgUuid: string, emailKey: string): Promise<boolean> =>
      store.hasOpenInvitation(tx, orgUuid, emailKey, dateOf(clock)),
  };
}
