import type { LoginDeps } from "./deps.ts";

/** The organization that a sign-in by mail names, by id or else by name; undefined when there is none. */
export async function namedOrganization(
  organizations: Pick<LoginDeps["organizations"], "findByName">,
  { orgUuid, orgName }: { orgUuid?: string | undefined; orgName?: string | undefined },
): Promise<string | undefined> {
  if (orgUuid) return orgUuid;
  return orgName?.trim() ? (await organizations.findByName(orgName))?.uuid : undefined;
}
