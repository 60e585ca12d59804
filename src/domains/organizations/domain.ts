import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { Organization } from "./entities.ts";
import { createOrganizations } from "./organizations.ts";

/** Organizations and their names; other domains serve them. */
export const organizationsDomain = defineDomain("organizations", (ground: Ground) => createOrganizations(ground), {
  entities: [Organization],
});
