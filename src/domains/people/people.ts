import { createAccounts } from "./accounts.ts";
import type { AccountsDeps } from "./accounts.ts";
import { createMails } from "./mails.ts";
import type { MailsDeps } from "./mails.ts";
import { createMemberships } from "./memberships.ts";
import type { MembershipsDeps } from "./memberships.ts";
import { createPasswords } from "./passwords.ts";
import { createPictures } from "./pictures.ts";
import { createProfiles } from "./profiles.ts";
import type { ProfilesDeps } from "./profiles.ts";

/** Dependencies of people. */
export type PeopleDeps = AccountsDeps & MailsDeps & MembershipsDeps & ProfilesDeps;

/** People: their accounts, passwords and memberships, and mails to them. */
export function createPeople(deps: PeopleDeps) {
  return {
    ...createAccounts(deps),
    ...createPasswords(deps),
    ...createProfiles(deps),
    memberships: createMemberships(deps),
    mails: createMails(deps),
    pictures: createPictures(deps),
  };
}

/** People as other domains use them. */
export type People = ReturnType<typeof createPeople>;
