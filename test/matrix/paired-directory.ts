import { directoryOf, GROUP_URN, PATCH_URN, USER_URN } from "../scim/support.ts";
import type { Directory } from "../scim/support.ts";
import { another, some, sql } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";
import type { PairedRequest } from "./paired-requests.ts";
import type { Ids } from "./world.ts";

const directories = new Map<string, Promise<Directory>>();

async function openDirectory(stage: Stage): Promise<Directory> {
  await sql(stage, "delete from scim_tokens where org_uuid = $1 and name in ('pair', 'late')", stage.side.owner.org);
  return directoryOf(stage.app, { org: stage.side.owner.org, token: stage.side.token });
}

/** The SCIM client of the organization of a stage. */
function directoryFor(stage: Stage): Promise<Directory> {
  const { org } = stage.side.owner;
  const open = directories.get(org) ?? openDirectory(stage);
  directories.set(org, open);
  return open;
}

function describedUser(): object {
  const userName = `scim${some()}@scim.test`;
  return { schemas: [USER_URN], userName, emails: [{ value: userName, primary: true }], active: true };
}

/** The user that the other request of the pair changes, or a new one. */
async function userOf(stage: Stage): Promise<string> {
  const { scim_user } = stage.side.ids;
  return scim_user ?? ((await (await directoryFor(stage)).user({ ...describedUser() })).id as string);
}

/** The group that the other request of the pair changes, or a new one. */
async function groupOf(stage: Stage): Promise<string> {
  const { scim_group } = stage.side.ids;
  if (scim_group !== undefined) return scim_group;
  const body = { schemas: [GROUP_URN], displayName: some() };
  return (await (await directoryFor(stage)).call("POST", "/Groups", body)).body.id as string;
}

const patch = (...Operations: object[]): object => ({ schemas: [PATCH_URN], Operations });
const replace = (path: string, value: unknown): object => ({ op: "replace", path, value });
const add = (user: string): object => ({ op: "add", path: "members", value: [{ value: user }] });

type Describe = (user: string, group: string) => unknown;

/** A write of SCIM at the path that its ids make. */
function scim(
  name: string,
  [method, path]: [string, (ids: Ids) => string],
  make: (stage: Stage) => Promise<Write> | Write,
): PairedRequest {
  return {
    name: `SCIM ${name}`,
    method,
    path: (stage, { ids = {} }) => `/scim/v2/organizations/${stage.side.owner.org}${path(ids)}`,
    async make(stage) {
      await directoryFor(stage);
      return make(stage);
    },
    token: async (stage) => (await directoryFor(stage)).token,
    contentType: "application/scim+json",
  };
}

const ofUser =
  (describe?: Describe) =>
  async (stage: Stage): Promise<Write> => {
    const user = await userOf(stage);
    return { ids: { scim_user: user, user_uuid: user }, ...(describe && { body: describe(user, "") }) };
  };
const ofMember =
  (body?: object) =>
  async (stage: Stage): Promise<Write> => {
    const user = stage.side.ids["member"] ?? (await another(stage)).userUuid;
    return { ids: { member: user, user_uuid: user }, ...(body && { body }) };
  };
const ofBoth =
  (describe: Describe) =>
  async (stage: Stage): Promise<Write> => {
    const [user, group] = [await userOf(stage), await groupOf(stage)];
    return { ids: { scim_user: user, scim_group: group, user_uuid: user }, body: describe(user, group) };
  };

const user = ({ scim_user }: Ids): string => `/Users/${scim_user}`;
const member = (ids: Ids): string => `/Users/${ids["member"]}`;
const group = ({ scim_group }: Ids): string => `/Groups/${scim_group}`;

/** Several operations on one user and one group. */
const bulkOf: Describe = (userId, groupId) => ({
  schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
  Operations: [
    { method: "PATCH", path: `/Groups/${groupId}`, data: patch(add(userId)) },
    { method: "PATCH", path: `/Users/${userId}`, data: patch(replace("active", false)) },
    { method: "DELETE", path: `/Groups/${groupId}` },
  ],
});

/** Writes of a directory. */
export const directoryWrites: readonly PairedRequest[] = [
  scim("POST /Users", ["POST", () => "/Users"], () => ({ body: describedUser() })),
  scim("PUT /Users", ["PUT", user], ofUser(describedUser)),
  scim(
    "PATCH /Users that deactivates",
    ["PATCH", user],
    ofUser(() => patch(replace("active", false))),
  ),
  scim(
    "PATCH /Users that renames",
    ["PATCH", user],
    ofUser(() => patch(replace("name.givenName", some()), replace("active", true))),
  ),
  scim("DELETE /Users", ["DELETE", user], ofUser()),
  scim("DELETE /Users of a member", ["DELETE", member], ofMember()),
  scim("PATCH /Users of a member", ["PATCH", member], ofMember(patch(replace("active", false)))),
  scim(
    "PATCH /Groups",
    ["PATCH", group],
    ofBoth((userId) => patch(add(userId))),
  ),
  scim(
    "PUT /Groups",
    ["PUT", group],
    ofBoth((userId) => ({ schemas: [GROUP_URN], displayName: some(), members: [{ value: userId }] })),
  ),
  scim("DELETE /Groups", ["DELETE", group], async (stage) => ({ ids: { scim_group: await groupOf(stage) } })),
  scim(
    "POST /Groups",
    ["POST", () => "/Groups"],
    ofUser((userId) => ({ schemas: [GROUP_URN], displayName: some(), members: [{ value: userId }] })),
  ),
  scim("POST /Bulk", ["POST", () => "/Bulk"], ofBoth(bulkOf)),
];
