import { personRequired } from "../../platform/caller.ts";
import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext, RequestContext } from "../../platform/context.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import { SKIP_REAUTHORIZATION } from "../../platform/db/types.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { settled } from "../../platform/outcome.ts";
import { causedBy, causedByPerson, EVENTS } from "../event-catalogue/index.ts";
import { endCodes } from "./code-store.ts";
import type { LoginDeps } from "./deps.ts";
import { loginErrors } from "./errors.ts";
import { createMailboxProof } from "./mailbox-proof.ts";
import { noAccountMail, resetMail } from "./mails.ts";
import { newResetLink } from "./reset-link.ts";
import { storedEmail } from "./rules.ts";
import { endMailTokens, peekMailToken, useMailToken } from "./store.ts";

/** New passwords for existing people (decisions 2.8). */
export function createPasswordChange(deps: LoginDeps) {
  const { database, clock, hasher, events, people, sessions, stepUp, config } = deps;
  const prove = createMailboxProof(deps);

  /** Ends open links, codes and reset tokens. Called before the person is locked, in the order of the sign-ins. */
  async function endOpen(tx: Tx, emailKey: string): Promise<void> {
    await endMailTokens(tx, emailKey, dateOf(clock));
    await endCodes(tx, emailKey);
  }

  async function reset(tx: Tx, token: Buffer, email: Email, passwordHash: string, info: RequestInfo): Promise<void> {
    if ((await useMailToken(tx, token, "password_reset", dateOf(clock))) === undefined)
      throw loginErrors.resetExpired();
    await endOpen(tx, email.key);
    const userUuid = await prove(tx, email, info);
    await tx.em.flush();
    await people.setPassword(tx, userUuid, passwordHash);
    const by = causedByPerson({ userUuid, email: email.address }, info);
    await sessions.own.endAll(tx, userUuid, "password_reset", by);
    await events.emit(tx, EVENTS["user.updated"], {
      by,
      orgUuid: (await people.memberships.lastUsed(tx, userUuid)) ?? null,
      resourceId: userUuid,
      metadata: { password: "reset" },
    });
  }

  return {
    /**
     * Mails a link to set a new password, or, to an address without an account, that it has none. The response and its
     * cost are the same for known and unknown addresses.
     * @throws {validation_error} when the address is not valid
     * @throws {unavailable} when mail is off
     */
    async forgot(context: RequestContext, address: string): Promise<void> {
      const email = parseEmail(address);
      if (email === undefined)
        throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      people.mails.demandMail();
      const known = (await people.findByEmail(email.key)) !== undefined;
      const link = newResetLink(deps, email);
      const minutes = Math.ceil(config.passwordResetMs / 60_000);
      const write = () => (known ? resetMail(link.url, minutes) : noAccountMail());
      await context.transaction(async (tx) => {
        // Nobody learns the token that is stored for an unknown address.
        await link.insert(tx);
        await people.mails.send(tx, { to: email.address, write }, link.expiresAt);
      });
    },

    /**
     * Sets a new password with the token of a mail, once, and ends every session, open link, code and reset token of
     * the person.
     * @throws {reset_expired} when the token is unknown, used or expired
     * @throws {validation_error} when the password breaks the rules; the token stays valid then
     */
    async reset(context: RequestContext, token: string, password: string): Promise<void> {
      const { info } = context;
      const hash = hashToken(token);
      const link = await database.transaction((tx) => peekMailToken(tx, hash, "password_reset", dateOf(clock)));
      const email = link === undefined ? undefined : parseEmail(link.email);
      const person = email === undefined ? undefined : await people.findByEmail(email.key);
      if (email === undefined || person === undefined) throw loginErrors.resetExpired();
      await people.demandGoodPasswordOf(person, password, "password");
      const passwordHash = await hasher.hash(password, info.address);
      await context.transaction((tx) => reset(tx, hash, email, passwordHash, info));
    },

    /**
     * Changes the caller's password and ends every session but the present one, and open links, codes and reset tokens.
     * A wrong present password counts as a failed step-up, a right one resets that count.
     * @throws {validation_error} when the new password breaks the rules
     * @throws {too_many_attempts} while step-up is locked; the present password is not checked then
     * @throws {invalid_password} when the present password is wrong
     */
    async change(context: CallerContext, present: string, wanted: string): Promise<void> {
      const { caller, info } = context;
      if (caller.userUuid === null) throw personRequired();
      const person = await people.findPassword(caller.userUuid);
      if (person === undefined) throw errors.unauthorized();
      await people.demandGoodPasswordOf(person, wanted, "new_password");
      const event = { by: causedBy(context), orgUuid: caller.orgUuid, userUuid: person.uuid, resourceId: person.uuid };
      const refuse = async (tx: Tx, refusal: ServiceError): Promise<ServiceError> => {
        const metadata = { password: "changed", code: refusal.code };
        await events.emitFailure(tx, EVENTS["user.updated"], { ...event, metadata });
        return refusal;
      };
      const locked = await stepUp.counter.refusal(caller);
      if (locked !== undefined) throw await database.transaction((tx) => refuse(tx, locked), SKIP_REAUTHORIZATION);
      const { ok } = await hasher.verify(person.passwordHash, present, info.address);
      const passwordHash = ok ? await hasher.hash(wanted, info.address) : "";
      const attempt = async (tx: Tx): Promise<ServiceError | undefined> => {
        if (ok) await endOpen(tx, storedEmail(person.email).key);
        await people.lock(tx, person.uuid);
        const count = await stepUp.counter.begin(tx, person.uuid);
        // A lockout that is found only now rolls everything back, and nothing is counted.
        if (count.refusal !== undefined) throw count.refusal;
        if (!ok) {
          await count.failed();
          return refuse(tx, loginErrors.invalidPassword());
        }
        if (!(await people.setPassword(tx, person.uuid, passwordHash, person.credentialsVersion)))
          throw loginErrors.invalidPassword();
        await count.passed();
        await sessions.own.endAll(tx, person.uuid, "password_changed", event.by, caller.sessionId);
        await stepUp.endMailed(tx, person.uuid);
        await events.emit(tx, EVENTS["user.updated"], { ...event, metadata: { password: "changed" } });
        return undefined;
      };
      settled(await (ok ? context.transaction(attempt) : database.transaction(attempt, SKIP_REAUTHORIZATION)));
    },
  };
}
