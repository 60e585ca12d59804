import { createMembers } from "./members.ts";
import type { MembersDeps } from "./members.ts";
import { createOrganizations } from "./organizations.ts";
import type { OrganizationsDeps } from "./organizations.ts";
import { createPictures } from "./pictures.ts";
import type { PicturesDeps } from "./pictures.ts";
import { createProfiles } from "./profiles.ts";
import type { ProfilesDeps } from "./profiles.ts";

/** Dependencies of profiles, members and organizations. */
export type UsersDeps = ProfilesDeps & PicturesDeps & MembersDeps & OrganizationsDeps;

/** People as they see themselves, and the members and settings of their organizations. */
export function createUsers(deps: UsersDeps) {
  return {
    profiles: createProfiles(deps),
    pictures: createPictures(deps),
    members: createMembers(deps),
    organizations: createOrganizations(deps),
  };
}

/** Profiles, members and organizations as the server uses them. */
export type Users = ReturnType<typeof createUsers>;
