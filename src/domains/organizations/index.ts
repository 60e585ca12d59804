export { organizationsDomain } from "./domain.ts";
export { Organization } from "./entities.ts";
export { organizationErrors } from "./errors.ts";
export { createOrganizations } from "./organizations.ts";
export type { OrganizationChange, Organizations } from "./organizations.ts";
export type { OrganizationRow, RaisedPlan } from "./store.ts";
