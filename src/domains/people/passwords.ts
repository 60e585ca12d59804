import { dateOf } from "../../platform/clock.ts";
import { checkPassword } from "../../platform/crypto/password-rules.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { AccountsDeps } from "./accounts.ts";
import * as store from "./password-store.ts";
import { lockPerson } from "./person-store.ts";

/** Passwords of people. */
export function createPasswords({ database, clock }: Pick<AccountsDeps, "database" | "clock">) {
  /** @throws {validation_error} for `field` when the password breaks the rules */
  async function demandGoodPassword(
    password: string,
    owner: { email?: string; orgName?: string },
    field = "password",
  ): Promise<void> {
    const violation = await checkPassword(password, owner, field);
    if (violation !== undefined) throw errors.validation({ fields: [violation] });
  }

  return {
    demandGoodPassword,

    /**
     * Checks a new password of somebody who has an account: it must not be the name of any of their organizations
     * either.
     * @throws {validation_error} for `field` when the password breaks the rules
     */
    async demandGoodPasswordOf(
      person: { uuid: string; email: string },
      password: string,
      field: string,
    ): Promise<void> {
      const names = await store.organizationNamesOf(database, person.uuid);
      for (const orgName of ["", ...names]) await demandGoodPassword(password, { email: person.email, orgName }, field);
    },

    /**
     * Sets a new password; what was proven with the old one no longer counts. Returns false, and changes nothing, when
     * the credentials no longer have the version `was`.
     */
    async setPassword(tx: Tx, userUuid: string, passwordHash: string, was?: number): Promise<boolean> {
      const person = await lockPerson(tx, userUuid);
      if (person === null || (was !== undefined && person.credentialsVersion !== was)) return false;
      person.takePassword(passwordHash, dateOf(clock));
      return true;
    },

    /** The stored password of the person with an address. */
    findByEmail: (emailKey: string) => store.findPasswordByEmail(database, emailKey),
    /** The stored password of a person. */
    findPassword: (userUuid: string) => store.findPassword(database, userUuid),
    /** What a password login is checked against. */
    findForLogin: (email: Email, nameKey: string) => store.findForLogin(database, email.key, nameKey),
    /** The same for a login that names no organization: the membership used last. */
    findForLoginAnywhere: (email: Email) => store.findForLoginAnywhere(database, email.key),
    /** Stores a stronger hash of the same password. */
    replaceHash: store.replaceHash,
  };
}
