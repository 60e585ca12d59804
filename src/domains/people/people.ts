import { createAccounts } from "./accounts.ts";
import type { AccountsDeps } from "./accounts.ts";
import { createMails } from "./mails.ts";
import type { MailsDeps } from "./mails.ts";
import { createMemberships } from "./memberships.ts";
import type { MembershipsDeps } from "./memberships.ts";
import { createPasswords } from "./passwords.ts";
import { createPictures } from "./pictures.ts";

/** Dependencies of people. */
export type PeopleDeps = AccountsDeps & MailsDeps & MembershipsDeps;

/** People: their accounts, passwords, memberships and pictures, and mails to them. */
export function createPeople(deps: PeopleDeps) {
  return {
    ...createAccounts(deps),
    ...createPasswords(deps),
    memberships: createMemberships(deps),
    mails: createMails(deps),
    pictures: createPictures(deps),
  };
}

/** People as other domains use them. */
export type People = ReturnType<typeof createPeople>;
