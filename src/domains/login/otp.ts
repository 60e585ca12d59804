import { createHmac } from "node:crypto";
import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { constantTimeEqual } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedPair } from "../sessions/index.ts";
import { countFailure, deleteCode, lockCode, replaceCode } from "./code-store.ts";
import type { LoginDeps } from "./deps.ts";
import { createMailboxEntry } from "./mailbox-entry.ts";
import type { MailboxDoor } from "./mailbox-entry.ts";
import { codeMail } from "./mails.ts";

/** A code that was read from a mail. */
export interface CodeAnswer {
  email: string;
  code: string;
  /** App the code was asked for, where one was named. */
  appUuid?: string | undefined;
  /** Organization to act in, for its members: the mail with the code names none to join. */
  orgUuid?: string | undefined;
}

/** The door for mailed one-time codes (decisions 3.8). */
export function createOtp(deps: LoginDeps) {
  const { database, clock, random, sealer, audit, people, sessions, config } = deps;
  const { enter } = createMailboxEntry(deps);
  const door: MailboxDoor<OpenedPair> = { method: "otp", amr: ["mail", "otp"], open: sessions.open.pair };

  /** One try in one transaction; a refusal is answered, so that what it counts stays. */
  async function attempt(
    tx: Tx,
    answer: CodeAnswer,
    info: RequestInfo,
  ): Promise<OpenedPair | SecondFactorNeeded | undefined> {
    const email = parseEmail(answer.email);
    if (email === undefined) return undefined;
    const appUuid = answer.appUuid || null;
    const row = await lockCode(tx, email.key, appUuid, dateOf(clock));
    if (row === undefined) return undefined;
    if (
      !constantTimeEqual(hashOf(sealer.open(row.key, context(email.key)), answer.code.replaceAll(/\s/gu, "")), row.hash)
    ) {
      await countFailure(tx, email.key, appUuid);
      return undefined;
    }
    await deleteCode(tx, email.key, appUuid);
    const entered = await enter(tx, { email: row.email, orgUuid: answer.orgUuid || null, joins: false }, door, info);
    return "mfaRequired" in entered ? entered : entered.opened;
  }

  return {
    /**
     * Mails a code, which takes the place of the one before for the same address and app. Known and unknown addresses
     * get the same answer at the same cost. Throws `validation_error` for an address that is none, 503 `unavailable`
     * when mail is off.
     */
    async send(
      request: { email: string; appUuid?: string | undefined },
      info?: RequestInfo,
    ): Promise<{ minutes: number }> {
      const email = parseEmail(request.email);
      if (email === undefined)
        throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      people.mails.demandMail();
      const code = String(random.int(0, 1_000_000)).padStart(6, "0");
      const secret = random.bytes(32);
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.otpMs)];
      const minutes = Math.ceil(config.otpMs / 60_000);
      const key = sealer.seal(secret, context(email.key));
      await database.transaction(async (tx) => {
        await replaceCode(tx, {
          emailKey: email.key,
          email: email.address,
          appUuid: request.appUuid || null,
          key,
          hash: hashOf(secret, code),
          at,
          expiresAt,
        });
        await people.mails.send(
          tx,
          { to: email.address, write: (sender) => codeMail(sender, code, minutes) },
          expiresAt,
        );
      }, info);
      return { minutes };
    },

    /**
     * Signs in with a code, or asks for the second factor; makes the person if need be. Throws `unauthorized` for a
     * code that is wrong, used up or expired.
     */
    async verify(answer: CodeAnswer, info: RequestInfo): Promise<OpenedPair | SecondFactorNeeded> {
      const signedIn = await database.transaction((tx) => attempt(tx, answer, info), info);
      if (signedIn !== undefined) return signedIn;
      const metadata = { method: "otp", code: "unauthorized", email: answer.email.slice(0, 254) };
      // Unknown addresses are looked up as well: they must cost what known ones do.
      const whose = await people.memberships.wouldEnter(parseEmail(answer.email)?.key ?? "", answer.orgUuid || null);
      await audit.recordFailure({ type: "login.magic_link", ...whose, info, metadata });
      throw errors.unauthorized({ message: "The code is wrong, used up or expired; ask for a new one." });
    },
  };
}

/** What a code is stored as: six digits need a key that the table alone does not give away. */
function hashOf(key: Buffer, code: string): Buffer {
  return createHmac("sha256", key).update(code, "utf8").digest();
}

function context(emailKey: string): string {
  return `one-time-code:${emailKey}`;
}
