import { GROUP_TABLE, USER_TABLE } from "./filter/index.ts";
import { createBulk } from "./bulk/bulk.ts";
import type { ScimDeps } from "./deps.ts";
import { createGroups } from "./groups/groups.ts";
import { countGroups, GROUP_COLUMNS } from "./groups/store.ts";
import type { GroupRow } from "./groups/store.ts";
import { createCursors } from "./lists/cursor.ts";
import { createLists } from "./lists/list.ts";
import { GROUP, USER } from "./schema/index.ts";
import { countUsers, LISTED_USER_COLUMNS, USER_SIZE } from "./users/store.ts";
import type { ListedUser } from "./users/store.ts";
import { createUsers } from "./users/users.ts";

/** SCIM 2.0 provisioning (RFC 7643, RFC 7644, RFC 9865; decisions 8.6 to 8.10). */
export function createScim(deps: ScimDeps) {
  const { database, clock, sealer, config } = deps;
  const baseUrlOf = (orgUuid: string): string => `${config.baseUrl}/scim/v2/organizations/${orgUuid.toLowerCase()}`;
  const lists = { database, baseUrlOf, cursors: createCursors({ clock, sealer, cursorMs: config.cursorMs }) };
  const [users, groups] = [createUsers(deps), createGroups(deps)];
  return {
    users,
    groups,
    bulk: createBulk(deps, users, groups),
    userLists: createLists<ListedUser>(lists, {
      kind: USER,
      table: USER_TABLE,
      from: "scim_users u",
      id: "u.user_uuid",
      columns: LISTED_USER_COLUMNS,
      size: USER_SIZE,
      total: countUsers,
    }),
    groupLists: createLists<GroupRow>(lists, {
      kind: GROUP,
      table: GROUP_TABLE,
      from: "scim_groups u",
      id: "u.group_uuid",
      columns: GROUP_COLUMNS,
      total: countGroups,
    }),
    /** Base URL of an organization's SCIM. */
    baseUrlOf,
    cursorMs: config.cursorMs,
  };
}

/** SCIM as its service uses it. */
export type Scim = ReturnType<typeof createScim>;
