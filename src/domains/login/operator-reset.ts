import { parseEmail } from "../../platform/email.ts";
import { systemActor } from "../audit-record/index.ts";
import { EVENTS } from "../event-catalogue/index.ts";
import type { LoginDeps } from "./deps.ts";
import { newResetLink } from "./reset-link.ts";

/** Password reset by the operator, for a person who has lost their password and cannot use their mailbox. */
export function createOperatorReset(deps: LoginDeps) {
  const { database, people, events } = deps;
  /**
   * Creates a link to set a new password, without a mail, and records that.
   * @returns the link and when it expires; undefined when nobody has that address
   */
  return async function createResetLink(address: string): Promise<{ link: string; expiresAt: Date } | undefined> {
    const email = parseEmail(address);
    const person = email === undefined ? undefined : await people.findByEmail(email.key);
    if (email === undefined || person === undefined) return undefined;
    const link = newResetLink(deps, email);
    await database.transaction(async (tx) => {
      await link.insert(tx);
      await events.emit(tx, EVENTS["user.updated"], {
        by: {
          actor: systemActor,
          userUuid: person.uuid,
          info: { address: "", userAgent: "atrium reset-password" },
        },
        orgUuid: (await people.memberships.lastUsed(tx, person.uuid)) ?? null,
        resourceId: person.uuid,
        metadata: { password: "reset_link" },
      });
    });
    return { link: link.url, expiresAt: link.expiresAt };
  };
}
