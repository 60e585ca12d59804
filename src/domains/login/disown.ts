import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { defineErrors } from "../../platform/errors.ts";
import { causedByPerson, EVENTS } from "../event-catalogue/index.ts";
import { endCodes } from "./code-store.ts";
import type { LoginDeps } from "./deps.ts";
import { createRevocation } from "./revocation.ts";
import { endAllMailTokens } from "./store.ts";

const disownErrors = defineErrors({
  badLink: [401, "unauthorized", "The link is unknown, expired or was used before."],
  confirmed: [409, "conflict", "The address of this account has been confirmed; sign in to leave its organizations."],
});

/** Why sessions, credentials and memberships end, for the audit log. */
const REASON = "disowned";

/** Deletion of an unconfirmed account by the owner of its mailbox, who did not sign up (decisions 2.3). */
export function createDisown(deps: LoginDeps) {
  const { clock, events, organizations, people, mfa, offboarding } = deps;
  const revokeCredentials = createRevocation(deps);

  /** Locks the organizations of a person, as by other changes of their members. */
  async function lockOrganizations(tx: Tx, userUuid: string): Promise<void> {
    const memberships = await people.memberships.allOf(tx, userUuid);
    await organizations.lockAll(
      tx,
      memberships.map(({ org_uuid: orgUuid }) => orgUuid),
    );
  }

  /**
   * Ends the account and every organization it is the only active member of. The row of the person must be locked. The
   * organizations that were founded or joined since they were locked are locked before anything in them is written.
   */
  async function end(tx: Tx, userUuid: string, email: string, info: RequestInfo): Promise<void> {
    await lockOrganizations(tx, userUuid);
    await revokeCredentials(tx, { userUuid, email }, REASON, info);
    const by = causedByPerson({ userUuid, email }, info);
    for (const { org_uuid: orgUuid, alone } of await people.memberships.allOf(tx, userUuid)) {
      if (alone) await offboarding.organizations.end(tx, orgUuid, by);
      else await offboarding.members.end(tx, orgUuid, userUuid, by);
    }
    await mfa.factors.endAll(tx, userUuid, REASON, by);
    await people.disown(tx, userUuid);
    await events.emit(tx, EVENTS["user.removed"], {
      by,
      orgUuid: null,
      resourceId: userUuid,
      metadata: { reason: REASON },
    });
  }

  /**
   * Ends an account whose address was never confirmed, with the token of a mail to that address, once.
   * @throws {unauthorized} when the token is unknown, used or expired
   * @throws {conflict} when the address of the account has been confirmed
   */
  return async function disown(context: RequestContext, token: string): Promise<void> {
    const hash = hashToken(token);
    await context.transaction(async (tx) => {
      const disowned = await people.mails.disownedBy(tx, hash);
      if (disowned === undefined) throw disownErrors.badLink();
      const { userUuid, emailKey } = disowned;
      // Before the person is locked, in the order of what mailed tokens and codes do.
      await endAllMailTokens(tx, emailKey, dateOf(clock));
      await endCodes(tx, emailKey);
      // Before the person too, in the order of those who change members.
      await lockOrganizations(tx, userUuid);
      const account = await people.lockUnconfirmed(tx, userUuid);
      if (account === undefined) throw disownErrors.badLink();
      if (account.confirmed) throw disownErrors.confirmed();
      if (!(await people.mails.useDisownToken(tx, hash, userUuid))) throw disownErrors.badLink();
      await end(tx, userUuid, account.email, context.info);
    });
  };
}
