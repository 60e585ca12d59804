import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import { ofRefusal } from "../../platform/db/types.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { actorOf, personActor } from "../audit-record/index.ts";
import { endCodes } from "./code-store.ts";
import type { LoginDeps } from "./deps.ts";
import { createMailboxProof } from "./mailbox-proof.ts";
import { nobodyMail, resetMail } from "./mails.ts";
import { passwordErrors } from "./password-errors.ts";
import { endMailTokens, insertMailToken, peekMailToken, useMailToken } from "./store.ts";

/** New passwords for people who are here (decisions 2.8). */
export function createPasswordChange(deps: LoginDeps) {
  const { database, clock, random, hasher, audit, people, sessions, mfa, config } = deps;
  const prove = createMailboxProof(deps);

  /** Ends what could still sign somebody in by mail. Before the person is locked, as the doors do it. */
  async function endOpen(tx: Tx, emailKey: string): Promise<void> {
    await endMailTokens(tx, emailKey, dateOf(clock));
    await endCodes(tx, emailKey);
  }

  async function reset(tx: Tx, token: Buffer, email: Email, passwordHash: string, info: RequestInfo): Promise<void> {
    if ((await useMailToken(tx, token, "password_reset", dateOf(clock))) === undefined)
      throw passwordErrors.resetExpired();
    await endOpen(tx, email.key);
    const userUuid = await prove(tx, email, info);
    await tx.em.flush();
    await people.setPassword(tx, userUuid, passwordHash);
    await sessions.own.endAll(tx, userUuid, "password_reset", info);
    const orgUuid = (await people.memberships.lastUsed(tx, userUuid)) ?? null;
    await audit.record(tx, {
      type: "user.updated",
      outcome: "success",
      userUuid,
      orgUuid,
      info,
      actor: personActor(userUuid, email.address),
      resource: { type: "user", id: userUuid },
      metadata: { password: "reset" },
    });
  }

  return {
    /**
     * Mails a link to set a new password; whoever has no account is told so, in a mail too. Known and unknown addresses
     * get the same answer at the same cost. Throws `validation_error` for an address that is none, 503 `unavailable`
     * when mail is off.
     */
    async forgot(address: string, info?: RequestInfo): Promise<void> {
      const email = parseEmail(address);
      if (email === undefined)
        throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      people.mails.demandMail();
      const known = (await people.findByEmail(email.key)) !== undefined;
      const { token, hash } = newOpaqueToken(random);
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.passwordResetMs)];
      const minutes = Math.ceil(config.passwordResetMs / 60_000);
      const url = `${config.baseUrl}/reset-password?token=${token}`;
      const write = () => (known ? resetMail(url, minutes) : nobodyMail());
      await database.transaction(async (tx) => {
        // Nobody learns the token that is stored for an unknown address.
        await insertMailToken(tx, {
          hash,
          purpose: "password_reset",
          email: email.address,
          emailKey: email.key,
          at,
          expiresAt,
        });
        await people.mails.send(tx, { to: email.address, write }, expiresAt);
      }, info);
    },

    /**
     * Sets a new password with the token of a mail, once, and ends every session, open link, code and reset token of
     * the person. Throws 400 `reset_expired` for any other token, 400 `validation_error` for the password, which leaves
     * the token as it is.
     */
    async reset(token: string, password: string, info: RequestInfo): Promise<void> {
      const hash = hashToken(token);
      const link = await database.transaction((tx) => peekMailToken(tx, hash, "password_reset", dateOf(clock)));
      const email = link === undefined ? undefined : parseEmail(link.email);
      const person = email === undefined ? undefined : await people.findByEmail(email.key);
      if (email === undefined || person === undefined) throw passwordErrors.resetExpired();
      await people.demandGoodPasswordOf(person, password, "password");
      const passwordHash = await hasher.hash(password, info.address);
      await database.transaction((tx) => reset(tx, hash, email, passwordHash, info), info);
    },

    /**
     * Changes the caller's password and ends every session but the present one, and open links, codes and reset tokens.
     * A wrong present one counts as a failed step-up, a right one resets that count.
     * @throws {validation_error} for the new password
     * @throws {too_many_attempts} while step-up is locked; the present password is not judged then
     * @throws {invalid_password} for a wrong present one
     */
    async change(caller: Caller, present: string, wanted: string, info: RequestInfo): Promise<void> {
      const { userUuid, orgUuid, sessionId } = caller;
      const person = userUuid === null ? undefined : await people.findPassword(userUuid);
      if (person === undefined) throw errors.forbidden();
      await people.demandGoodPasswordOf(person, wanted, "new_password");
      const event = {
        type: "user.updated" as const,
        userUuid: person.uuid,
        orgUuid,
        info,
        actor: actorOf(caller),
        resource: { type: "user", id: person.uuid },
      };
      const refuse = async (tx: Tx, refusal: ServiceError): Promise<ServiceError> => {
        await audit.record(tx, { ...event, outcome: "failure", metadata: { password: "changed", code: refusal.code } });
        return refusal;
      };
      const locked = await mfa.stepUp.counter.refusal(caller);
      if (locked !== undefined) throw await database.transaction((tx) => refuse(tx, locked), ofRefusal);
      const { ok } = await hasher.verify(person.password_hash, present, info.address);
      const passwordHash = ok ? await hasher.hash(wanted, info.address) : "";
      const outcome = await database.transaction(
        async (tx): Promise<ServiceError | undefined> => {
          if (ok) await endOpen(tx, parseEmail(person.email)?.key ?? "");
          await people.lock(tx, person.uuid);
          const attempt = await mfa.stepUp.counter.begin(tx, person.uuid);
          // Found to be locked only now: what has been done is rolled back, and nothing is counted.
          if (attempt.refusal !== undefined) throw attempt.refusal;
          if (!ok) {
            await attempt.failed();
            return refuse(tx, passwordErrors.invalidPassword());
          }
          if (!(await people.setPassword(tx, person.uuid, passwordHash, person.credentials_version)))
            throw passwordErrors.invalidPassword();
          await attempt.passed();
          await sessions.own.endAll(tx, person.uuid, "password_changed", info, sessionId);
          await mfa.stepUp.endMailed(tx, person.uuid);
          await audit.record(tx, { ...event, outcome: "success", metadata: { password: "changed" } });
          return undefined;
        },
        ok ? caller : ofRefusal,
      );
      if (outcome !== undefined) throw outcome;
    },
  };
}
