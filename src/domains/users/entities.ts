import { defineEntity, p } from "@mikro-orm/postgresql";

const PersonSchema = defineEntity({
  name: "Person",
  tableName: "people",
  properties: {
    id: p.integer().primary().autoincrement(),
    uuid: p.uuid(),
    email: p.text(),
    emailKey: p.text(),
    firstName: p.text(),
    lastName: p.text(),
    phone: p.text().nullable(),
    username: p.text().nullable(),
    passwordHash: p.text().nullable(),
    credentialsVersion: p.integer(),
    emailConfirmedAt: p.datetime(3).nullable(),
    isPlatformAdmin: p.boolean(),
    isSuperuser: p.boolean(),
    isOperator: p.boolean(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    version: p.integer().version(),
  },
});

/** Somebody with one email, one password and any number of memberships. */
export class Person extends PersonSchema.class {
  /**
   * Notes that the person has the mailbox. The first proof, other than by the link of the sign-up, takes away
   * the password set before it; true then, and the caller ends the sessions.
   */
  proveMailbox(at: Date, bySignUpLink: boolean): boolean {
    if (this.emailConfirmedAt) return false;
    this.emailConfirmedAt = at;
    this.updatedAt = at;
    if (bySignUpLink) return false;
    this.passwordHash = null;
    this.credentialsVersion += 1;
    return true;
  }

  /** Takes a new password, given as its hash. */
  takePassword(passwordHash: string, at: Date): void {
    this.passwordHash = passwordHash;
    this.credentialsVersion += 1;
    this.updatedAt = at;
  }

  /** Takes another name and telephone number; undefined leaves as it is, an empty number removes it. Answers what became another. */
  describe(change: { firstName?: string | undefined; lastName?: string | undefined; phone?: string | undefined }, at: Date): string[] {
    const was = { first_name: this.firstName, last_name: this.lastName, phone: this.phone };
    if (change.firstName !== undefined) this.firstName = change.firstName;
    if (change.lastName !== undefined) this.lastName = change.lastName;
    if (change.phone !== undefined) this.phone = change.phone === "" ? null : change.phone;
    this.updatedAt = at;
    const is: typeof was = { first_name: this.firstName, last_name: this.lastName, phone: this.phone };
    return (["first_name", "last_name", "phone"] as const).filter((name) => is[name] !== was[name]);
  }
}
PersonSchema.setClass(Person);
