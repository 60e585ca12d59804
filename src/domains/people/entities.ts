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
    mailboxProvenAt: p.datetime(3).nullable(),
    isPlatformAdmin: p.boolean(),
    isSuperuser: p.boolean(),
    isOperator: p.boolean(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    version: p.integer().version(),
  },
});

/** A requested change of a profile. */
export interface ProfileChange {
  firstName?: string | undefined;
  lastName?: string | undefined;
  /** Telephone number; empty removes it. */
  phone?: string | undefined;
}

/** Somebody with one email, one password and any number of memberships. */
export class Person extends PersonSchema.class {
  /** Confirms the address by the link of the sign-up; returns false when it was confirmed before. */
  confirm(at: Date): boolean {
    if (this.emailConfirmedAt) return false;
    this.emailConfirmedAt = at;
    this.updatedAt = at;
    return true;
  }

  /**
   * Records a proof of the mailbox by any other way. `complete`: no second factor is left to pass, so the address is
   * confirmed. Returns true for the first proof of an unconfirmed address, which removes the password; the caller
   * ends the other credentials.
   */
  proveMailbox(at: Date, complete: boolean): boolean {
    if (this.emailConfirmedAt) return false;
    const first = !this.mailboxProvenAt;
    if (complete) this.emailConfirmedAt = at;
    if (first) {
      this.mailboxProvenAt = at;
      this.passwordHash = null;
      this.credentialsVersion += 1;
    }
    this.updatedAt = at;
    return first;
  }

  /** Ends an account that was never confirmed: its address and username are free, and nothing signs in to it. */
  disown(at: Date): void {
    this.email = "";
    this.emailKey = `disowned:${this.uuid}`;
    this.username = null;
    this.firstName = "";
    this.lastName = "";
    this.phone = null;
    this.passwordHash = null;
    this.credentialsVersion += 1;
    this.isPlatformAdmin = false;
    this.isSuperuser = false;
    this.isOperator = false;
    this.updatedAt = at;
  }

  /** Takes an address that is not proven. */
  readdress({ address, key }: { address: string; key: string }, at: Date): void {
    this.email = address;
    this.emailKey = key;
    this.updatedAt = at;
  }

  /** Takes a new password, given as its hash. */
  takePassword(passwordHash: string, at: Date): void {
    this.passwordHash = passwordHash;
    this.credentialsVersion += 1;
    this.updatedAt = at;
  }

  /** Changes name and telephone number; returns the names of what has changed. */
  describe(change: ProfileChange, at: Date): string[] {
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
