import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { INVITATIONS_PER_ORGANIZATION, MAILS_PER_EMAIL } from "../../platform/limits/index.ts";
import type { InvitationsDeps } from "./deps.ts";
import { invitationMail } from "./mail.ts";

/** Budgets and mails of invitations. */
export function createSending({ people, limiter, config }: Pick<InvitationsDeps, "people" | "limiter" | "config">) {
  /**
   * Takes from the organization's budget first: one that has none left must not use up those of addresses.
   * @throws {rate_limited} when a budget is used up
   */
  async function takeFromBudgets(orgUuid: string, emailKey: string): Promise<void> {
    for (const [budget, subject] of [
      [INVITATIONS_PER_ORGANIZATION, orgUuid],
      [MAILS_PER_EMAIL, emailKey],
    ] as const) {
      const waitMs = (await limiter?.take(budget, subject)) ?? 0;
      if (waitMs > 0) throw errors.rateLimited({ retryAfter: waitMs / 1000 });
    }
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
    await people.mails.send(tx, { to: email.address, organization: orgName, write }, expiresAt);
  }

  return { takeFromBudgets, sendMail };
}
