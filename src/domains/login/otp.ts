import { createHmac } from "node:crypto";
import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { constantTimeEqual } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedPair } from "../sessions/index.ts";
import { countFailure, deleteCode, lockCode, replaceCode } from "./code-store.ts";
import type { LoginDeps } from "./deps.ts";
import type { MailMethod, MailSignIn } from "./mail-sign-in.ts";
import { codeMail } from "./mails.ts";
import { namedOrganization } from "./named-organization.ts";
import { enteredEmail } from "./rules.ts";
import { createSsoRefusals } from "./sso-refusal.ts";

/** A code as the person entered it. */
export interface EnteredCode {
  email: string;
  code: string;
  /** App the code was requested for, if any. */
  appUuid?: string | undefined;
  /** Organization to act in, for its members: the mail with the code names none to join. */
  orgUuid?: string | undefined;
  /** Its name, where the id is not known; without effect when no organization has it. */
  orgName?: string | undefined;
}

/** Sign-in by mailed one-time codes (decisions 3.8). */
export function createOtp(deps: LoginDeps, { signIn }: MailSignIn) {
  const { clock, random, sealer, events, organizations, people, sessions, config } = deps;
  const ssoRefusals = createSsoRefusals(deps);
  const method: MailMethod<OpenedPair> = { name: "otp", amr: ["mail", "otp"], open: sessions.open.pair };

  /** One attempt in one transaction; undefined when it is refused, so that the failure it counts is committed. */
  async function attempt(
    tx: Tx,
    entered: EnteredCode,
    info: RequestInfo,
  ): Promise<OpenedPair | SecondFactorNeeded | undefined> {
    const email = parseEmail(entered.email);
    if (email === undefined) return undefined;
    const appUuid = entered.appUuid || null;
    const row = await lockCode(tx, email.key, appUuid, dateOf(clock));
    if (row === undefined) return undefined;
    const hash = hashOf(sealer.open(row.key, sealContext(email.key)), entered.code.replaceAll(/\s/gu, ""));
    if (!constantTimeEqual(hash, row.hash)) {
      await countFailure(tx, email.key, appUuid);
      return undefined;
    }
    await deleteCode(tx, email.key, appUuid);
    const mailbox = { email: row.email, orgUuid: entered.orgUuid || null, joins: false };
    const outcome = await signIn(tx, mailbox, method, info);
    return "mfaRequired" in outcome ? outcome : outcome.opened;
  }

  return {
    /**
     * Mails a code, which replaces the previous one for the same address and app. The response and its cost are the
     * same for known and unknown addresses.
     * @throws {validation_error} when the address is not valid
     * @throws {unavailable} when mail is off
     */
    async send(
      context: RequestContext,
      request: { email: string; appUuid?: string | undefined },
    ): Promise<{ minutes: number }> {
      const email = parseEmail(request.email);
      if (email === undefined)
        throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      people.mails.demandMail();
      const code = String(random.int(0, 1_000_000)).padStart(6, "0");
      const secret = random.bytes(32);
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.otpMs)];
      const minutes = Math.ceil(config.otpMs / 60_000);
      const key = sealer.seal(secret, sealContext(email.key));
      await context.transaction(async (tx) => {
        await replaceCode(tx, {
          emailKey: email.key,
          email: email.address,
          appUuid: request.appUuid || null,
          key,
          hash: hashOf(secret, code),
          at,
          expiresAt,
        });
        const write = (sender: string) => codeMail(sender, code, minutes);
        await people.mails.send(tx, { to: email.address, write }, expiresAt);
      });
      return { minutes };
    },

    /**
     * Signs in with a code, or asks for the second factor; creates the person if necessary.
     * @throws {unauthorized} when the code is wrong, used up or expired
     */
    async verify(context: RequestContext, request: EnteredCode): Promise<OpenedPair | SecondFactorNeeded> {
      const { info } = context;
      const entered = { ...request, orgUuid: await namedOrganization(organizations, request) };
      const emailKey = parseEmail(entered.email)?.key ?? "";
      const whose = () => people.memberships.wouldEnter(emailKey, entered.orgUuid || null);
      const metadata = { method: "otp", email: enteredEmail(entered.email) };
      const signedIn = await ssoRefusals(
        context.transaction((tx) => attempt(tx, entered, info)),
        info,
        async () => ({ event: "login.magic_link", ...(await whose()), metadata }),
      );
      if (signedIn !== undefined) return signedIn;
      // Unknown addresses are looked up too, so that they cost what known ones do.
      const { userUuid, orgUuid } = await whose();
      await events.recordFailure(EVENTS["login.magic_link"], {
        by: withoutActor(userUuid, info),
        orgUuid,
        metadata: { ...metadata, code: "unauthorized" },
      });
      throw errors.unauthorized({ message: "The code is wrong, used up or expired; ask for a new one." });
    },
  };
}

/** The stored form of a code: six digits need a key that the table alone does not disclose. */
function hashOf(key: Buffer, code: string): Buffer {
  return createHmac("sha256", key).update(code, "utf8").digest();
}

/** The context that the key of a code is sealed with. */
export function sealContext(emailKey: string): string {
  return `one-time-code:${emailKey}`;
}
