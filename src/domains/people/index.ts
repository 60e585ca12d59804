import { createMemberships } from "./memberships.ts";
import { createLetters } from "./letters.ts";
import type { LettersDeps } from "./letters.ts";
import { createPeople } from "./people.ts";
import type { UsersDeps } from "./people.ts";
import { createPictures } from "./pictures.ts";

export { Person } from "./entities.ts";
export type { Letter, LetterContent, Letters } from "./letters.ts";
export { userErrors } from "./errors.ts";
export { builtInRoles } from "./memberships.ts";
export type { PersonToMake, UsersDeps } from "./people.ts";
export type { LoginRow } from "./store.ts";
export { profileRpc, usersLoginRpc } from "./rpc.ts";
export { readUsername } from "./rules.ts";

/** People, their profiles, pictures and memberships. */
export function createUsers(deps: UsersDeps & LettersDeps) {
  return {
    letters: createLetters(deps),
    people: createPeople(deps),
    memberships: createMemberships(deps),
    pictures: createPictures(deps),
  };
}

/** People as other domains see them. */
export type Users = ReturnType<typeof createUsers>;
