import { randomUUID } from "node:crypto";

/** Headers of a body of SCIM. */
export const SCIM_JSON = { "content-type": "application/scim+json" };

/** A user as a directory would create them. */
export function scimUser(userName = `user.${randomUUID()}@bench.test`): object {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    userName,
    externalId: randomUUID(),
    name: { givenName: "Given", familyName: "Family" },
    emails: [{ value: userName, type: "work", primary: true }],
  };
}

/** Name of the user of this number in a directory. */
export function scimUserName(directory: string, n: number): string {
  return `user.${n}.${directory}@bench.test`;
}
