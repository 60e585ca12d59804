import { dateOf } from "../../platform/clock.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import { parseEmail } from "../../platform/email.ts";
import { systemActor } from "../audit-record/index.ts";
import type { LoginDeps } from "./deps.ts";
import { insertMailToken } from "./store.ts";

/**
 * The way back in for somebody whose password is lost and whose mailbox cannot be used: an operator hands them the
 * link.
 */
export function createRescue({ database, clock, random, people, audit, config }: LoginDeps) {
  /**
   * Stores a link to set a new password, as `forgot` does, without a mail, and records that.
   * @returns the link and when it ends; undefined where nobody has that address.
   */
  return async (address: string): Promise<{ link: string; expiresAt: Date } | undefined> => {
    const email = parseEmail(address);
    const person = email === undefined ? undefined : await people.findByEmail(email.key);
    if (email === undefined || person === undefined) return undefined;
    const { token, hash } = newOpaqueToken(random);
    const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.passwordResetMs)];
    await database.transaction(async (tx) => {
      await insertMailToken(tx, {
        hash,
        purpose: "password_reset",
        email: email.address,
        emailKey: email.key,
        at,
        expiresAt,
      });
      await audit.record(tx, {
        type: "user.updated",
        outcome: "success",
        userUuid: person.uuid,
        orgUuid: (await people.memberships.lastUsed(tx, person.uuid)) ?? null,
        info: { address: "", userAgent: "atrium reset-password" },
        actor: systemActor,
        resource: { type: "user", id: person.uuid },
        metadata: { password: "reset_link" },
      });
    });
    return { link: `${config.baseUrl}/reset-password?token=${token}`, expiresAt };
  };
}
