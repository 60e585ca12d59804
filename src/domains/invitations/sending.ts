import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import { INVITATIONS_PER_ORGANIZATION, MAILS_PER_EMAIL, spend } from "../../platform/limits/index.ts";
import type { InvitationsDeps } from "./deps.ts";
import { invitationMail } from "./mail.ts";

/** Budgets and mails of invitations. */
export function createSending({ people, limiter, config }: Pick<InvitationsDeps, "people" | "limiter" | "config">) {
  /**
   * Takes from the organization's budget first: one that has none left must not use up those of addresses.
   * @throws {rate_limited} when a budget is used up
   */
  async function takeFromBudgets(orgUuid: string, emailKey: string): Promise<void> {
    await spend(limiter, INVITATIONS_PER_ORGANIZATION, orgUuid);
    await spend(limiter, MAILS_PER_EMAIL, emailKey);
  }

  /** Queues the mail with the token, which is stored nowhere else. */
  async function sendMail(
    tx: Tx,
    { email, orgName, role, expiresAt }: { email: Email; orgName: string; role: string; expiresAt: Date },
    invitedBy: string | null,
    token: string,
  ): Promise<void> {
    const url = `${config.baseUrl}/invite#token=${token}`;
    const write = (organization: string) =>
      invitationMail(organization, { url, role, invitedBy, lastsMs: config.invitationMs });
    await people.mails.send(tx, { to: email.address, organization: orgName, bulk: true, write }, expiresAt);
  }

  return { takeFromBudgets, sendMail };
}
