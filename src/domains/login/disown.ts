import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { defineErrors } from "../../platform/errors.ts";
import { personActor } from "../audit-record/index.ts";
import { endCodes } from "./code-store.ts";
import type { LoginDeps } from "./deps.ts";
import { createForfeit } from "./forfeit.ts";
import { endAllMailTokens } from "./store.ts";

const disownErrors = defineErrors({
  badLink: [401, "unauthorized", "The link is unknown, expired or was used before."],
  confirmed: [409, "conflict", "The address of this account has been confirmed; sign in to leave its organizations."],
});

/** Why sessions, credentials and memberships end, for the audit log. */
const REASON = "disowned";

/** The way out for the owner of a mailbox that somebody else signed up with (decisions 2.3). */
export function createDisown(deps: LoginDeps) {
  const { database, clock, audit, people, mfa, administration } = deps;
  const forfeit = createForfeit(deps);

  /** Ends the account and every organization it is the only member of. The row of the person must be locked. */
  async function end(tx: Tx, userUuid: string, email: string, info: RequestInfo): Promise<void> {
    await forfeit(tx, { userUuid, email }, REASON, info);
    for (const { org_uuid: orgUuid, org_name: orgName, alone } of await people.memberships.allOf(tx, userUuid)) {
      const caller = ownerOf(userUuid, email, orgUuid, orgName);
      if (alone) await administration.organizations.end(tx, caller, info);
      else await administration.members.end(tx, caller, userUuid, info);
    }
    await mfa.factors.endAll(tx, userUuid, REASON, info);
    const emailKey = parseEmail(email)?.key ?? "";
    await endAllMailTokens(tx, emailKey, dateOf(clock));
    await endCodes(tx, emailKey);
    await people.disown(tx, userUuid);
    const resource = { type: "user", id: userUuid };
    await audit.record(tx, {
      type: "user.removed",
      outcome: "success",
      userUuid,
      orgUuid: null,
      info,
      actor: personActor(userUuid, email),
      resource,
      metadata: { reason: REASON },
    });
  }

  return {
    /**
     * Ends an account whose address was never confirmed, with the token of a mail to that address, once. Throws 401
     * `unauthorized` for a token that is unknown, used or expired, 409 `conflict` for the token of a confirmed account.
     */
    async disown(token: string, info: RequestInfo): Promise<void> {
      const hash = hashToken(token);
      await database.transaction(async (tx) => {
        const userUuid = await people.mails.disownedBy(tx, hash);
        const account = userUuid === undefined ? undefined : await people.lockUnconfirmed(tx, userUuid);
        if (userUuid === undefined || account === undefined) throw disownErrors.badLink();
        if (account.confirmed) throw disownErrors.confirmed();
        if (!(await people.mails.useDisownToken(tx, hash, userUuid))) throw disownErrors.badLink();
        await end(tx, userUuid, account.email, info);
      }, info);
    },
  };
}

/** The person as owner of an organization that ends with their account, for what records and reacts to that. */
function ownerOf(userUuid: string, email: string, orgUuid: string, orgName: string): Caller {
  return {
    principal: { type: "user", id: userUuid },
    userUuid,
    email,
    orgUuid,
    orgName,
    sessionId: null,
    roles: ["admin"],
    isOwner: true,
    isAdmin: true,
    isPlatformAdmin: false,
    isSuperuser: false,
    isOperator: false,
    canWriteVault: false,
    entitlements: [],
    appAdmin: [],
    sandbox: false,
    scopes: null,
    elevated: false,
    claims: null,
    expiresAt: null,
    judge: () => Promise.resolve(),
  };
}
