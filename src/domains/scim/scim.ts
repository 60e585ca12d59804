import { GROUP_TABLE, USER_TABLE } from "./filter/index.ts";
import { createBulk } from "./bulk/bulk.ts";
import type { ScimDeps } from "./deps.ts";
import { createGroups } from "./groups/groups.ts";
import { countGroups, GROUP_COLUMNS } from "./groups/store.ts";
import type { GroupRow } from "./groups/store.ts";
import { createCursors } from "./lists/cursor.ts";
import { createLists } from "./lists/list.ts";
import { GROUP, USER } from "./schema/index.ts";
import * as store from "./users/store.ts";
import type { ListedUser } from "./users/store.ts";
import { createUsers } from "./users/users.ts";

/** SCIM 2.0 provisioning (RFC 7643, RFC 7644, RFC 9865; decisions 8.6 to 8.10). */
export function createScim(deps: ScimDeps) {
  const { database, clock, sealer, config } = deps;
  const baseUrlOf = (orgUuid: string): string => `${config.baseUrl}/scim/v2/organizations/${orgUuid.toLowerCase()}`;
  const lists = { database, baseUrlOf, cursors: createCursors({ clock, sealer, cursorMs: config.cursorMs }) };
  const [users, groups] = [createUsers(deps), createGroups(deps)];
  const userSource = {
    kind: USER,
    table: USER_TABLE,
    from: "scim_users u",
    id: "u.user_uuid",
    total: store.countUsers,
  };
  return {
    users,
    groups,
    bulk: createBulk(deps, users, groups),
    userLists: createLists<ListedUser>(lists, {
      ...userSource,
      columns: store.LISTED_USER_COLUMNS,
      size: store.USER_SIZE,
    }),
    /** For responses of which the groups are no part, neither themselves nor in the ETag. */
    userListsWithoutGroups: createLists<ListedUser>(lists, {
      ...userSource,
      columns: store.USER_COLUMNS_WITHOUT_GROUPS,
      size: store.SIZE_WITHOUT_GROUPS,
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
