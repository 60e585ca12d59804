import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { violatedConstraint } from "../../../platform/db/failure.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { isUuid } from "../../../platform/value-rules.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { ScimDeps } from "../deps.ts";
import { scimErrors } from "../errors.ts";
import type { GroupPatch } from "../patch/group-patch.ts";
import { demandMatch } from "../resource/etag.ts";
import { foldResource } from "../resource/fold.ts";
import { demandRequired, readResource } from "../resource/read.ts";
import { foldText, isObject, sameJson } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import { GROUP } from "../schema/index.ts";
import { groupEtag } from "./present.ts";
import type { ShownGroup } from "./present.ts";
import * as store from "./store.ts";

/** Maximum number of groups of an organization. */
const MAX_GROUPS = 10_000;
/** Members that the groups of a page have together; one group may have half of it. */
const MAX_PAGE_MEMBERS = 20_000;
/** Groups whose members are counted at first; the next step is twice as long. */
const FIRST_COUNTED = 10;

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

/** Ids of members; anything but the id of a user is refused, and with it nested groups (decisions 8.7). */
function memberIds(members: Json | undefined): string[] {
  const ids = (Array.isArray(members) ? members : []).map((member: Json) =>
    isObject(member) ? textOf(member["value"]) : "",
  );
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) throw scimErrors.invalidValue(`members: ${wrong.slice(0, 100) || "a value"} is no user.`);
  return [...new Set(ids.map((id) => id.toLowerCase()))];
}

/** Splits the attributes of a group. @throws {invalidValue} when there is no displayName, or a member is no id */
function groupAttributes(resource: Resource) {
  demandRequired(GROUP, resource);
  const { members, ...data } = resource;
  const displayName = foldText(textOf(data["displayName"]));
  const externalId = textOf(data["externalId"]) || null;
  return { data, folded: foldResource(GROUP, data), displayName, externalId, members: memberIds(members) };
}

type GroupAttributes = ReturnType<typeof groupAttributes>;

/** A change of a group, as a function of its attributes and of those members on which it depends. */
interface Change extends Pick<GroupPatch, "members"> {
  next(current: Resource, unread: number): GroupAttributes | Promise<GroupAttributes>;
}

function uniqueName(error: unknown): never {
  throw violatedConstraint(error) === "scim_groups_name"
    ? scimErrors.uniqueness("A group has this displayName.")
    : error;
}

/** Groups of an organization: teams without power (decisions 8.7). */
export function createGroups({ database, clock, random, events }: ScimDeps) {
  async function lock(tx: Tx, context: CallerContext, id: string, ifMatch: string | null) {
    const group = isUuid(id) ? await store.lockGroup(tx, callerOrg(context.caller), id.toLowerCase()) : undefined;
    if (group === undefined) throw scimErrors.notFound();
    demandMatch(ifMatch, groupEtag(group));
    return group;
  }

  async function record(
    tx: Tx,
    context: CallerContext,
    type: "scim.group.created" | "scim.group.updated" | "scim.group.deleted",
    resourceId: string,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    await events.emit(tx, EVENTS[type], {
      by: causedBy(context),
      orgUuid: callerOrg(context.caller),
      resourceId,
      metadata,
    });
  }

  /** @throws {invalidValue} when one of them is no user of the organization */
  async function add(tx: Tx, orgUuid: string, groupUuid: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const known = await store.insertMembers(tx, orgUuid, groupUuid, ids);
    if (known !== ids.length) throw scimErrors.invalidValue("members: one of them is no user of the organization.");
  }

  /** Those members of a group on which a change depends, and how many others it has. */
  async function concerned(tx: Tx, groupUuid: string, ids: Change["members"]) {
    if (ids === undefined) return { before: await store.membersIn(tx, groupUuid), unread: 0 };
    if (ids.length === 0) return { before: [], unread: 0 };
    const { members: before, total } = await store.membersAmong(tx, groupUuid, ids);
    return { before, unread: total - before.length };
  }

  /** Changes a group; the result has its members where they are asked for. */
  async function become(
    context: CallerContext,
    id: string,
    ifMatch: string | null,
    { members: ids, next }: Change,
    withMembers: boolean,
  ): Promise<ShownGroup> {
    const orgUuid = callerOrg(context.caller);
    return context.transaction(async (tx) => {
      const group = await lock(tx, context, id, ifMatch);
      const { groupUuid } = group;
      const { before, unread } = await concerned(tx, groupUuid, ids);
      const members = before.map((value) => ({ value }));
      const current = { ...group.data, ...(members.length > 0 && { members }) };
      const attributes = await next(current, unread);
      const [was, is] = [new Set(before), new Set(attributes.members)];
      const added = attributes.members.filter((member) => !was.has(member));
      const removed = before.filter((member) => !is.has(member));
      const shown = async (row: store.GroupRow): Promise<ShownGroup> => {
        if (!withMembers) return { ...row, members: undefined };
        return { ...row, members: ids === undefined ? [...is].sort() : await store.membersIn(tx, groupUuid) };
      };
      if (sameJson(group.data, attributes.data) && added.length === 0 && removed.length === 0) return shown(group);
      const at = dateOf(clock);
      await store.updateGroup(tx, { orgUuid, groupUuid, ...attributes, at }).catch(uniqueName);
      if (removed.length > 0) await store.deleteMembers(tx, groupUuid, removed);
      await add(tx, orgUuid, groupUuid, added);
      await record(tx, context, "scim.group.updated", groupUuid, {
        display_name: attributes.data["displayName"],
        added: added.length,
        removed: removed.length,
      });
      return shown({ ...group, data: attributes.data, version: group.version + 1, updatedAt: at });
    });
  }

  return {
    /** Changes attributes and members of a group; the result has the members where they are asked for. */
    change: (
      context: CallerContext,
      id: string,
      ifMatch: string | null,
      { members, apply }: GroupPatch,
      withMembers: boolean,
    ): Promise<ShownGroup> =>
      become(
        context,
        id,
        ifMatch,
        { members, next: async (current, unread) => groupAttributes(await apply(current, unread)) },
        withMembers,
      ),

    /**
     * Creates a group.
     * @throws {invalidValue} when a member is no user of the organization
     * @throws {uniqueness} when the displayName is in use
     */
    async create(context: CallerContext, body: Readonly<Record<string, unknown>>): Promise<ShownGroup> {
      const { members, ...attributes } = groupAttributes(readResource(GROUP, body));
      const [orgUuid, groupUuid, at] = [callerOrg(context.caller), random.uuid(), dateOf(clock)];
      return context.transaction(async (tx) => {
        await store.insertGroup(tx, { orgUuid, groupUuid, ...attributes, at }).catch(uniqueName);
        if ((await store.countGroupsAlone(tx, orgUuid)) > MAX_GROUPS)
          throw scimErrors.tooMany(`An organization has at most ${MAX_GROUPS} groups.`);
        await add(tx, orgUuid, groupUuid, members);
        const metadata = { display_name: attributes.data["displayName"], added: members.length, removed: 0 };
        await record(tx, context, "scim.group.created", groupUuid, metadata);
        const { data } = attributes;
        return { groupUuid, data, version: 1, createdAt: at, updatedAt: at, members: [...members].sort() };
      });
    },

    /** @throws {not_found} when the organization has no such group */
    async find({ caller }: CallerContext, id: string, withMembers: boolean): Promise<ShownGroup> {
      const row = isUuid(id) ? await store.findGroup(database, callerOrg(caller), id.toLowerCase()) : undefined;
      if (row === undefined) throw scimErrors.notFound();
      return { ...row, members: withMembers ? await this.membersOf([row]).then((of) => of(row)) : undefined };
    },

    /** How many of these groups, from the first, a page has with their members. */
    async fitting(rows: readonly store.GroupRow[]): Promise<number> {
      let members = 0;
      let step = FIRST_COUNTED;
      for (let from = 0; from < rows.length; step *= 2) {
        const counted = rows.slice(from, from + step).map(({ groupUuid }) => groupUuid);
        const counts = await store.memberCounts(database, counted);
        for (const groupUuid of counted) {
          members += counts.get(groupUuid) ?? 0;
          if (members > MAX_PAGE_MEMBERS) return from;
          from++;
        }
      }
      return rows.length;
    },

    /** The members of groups, as a function of a group. */
    async membersOf(rows: readonly store.GroupRow[]): Promise<(row: store.GroupRow) => string[]> {
      if (rows.length === 0) return () => [];
      const groupUuids = rows.map(({ groupUuid }) => groupUuid);
      const members = await store.membersOf(database, groupUuids);
      return ({ groupUuid }) => members.get(groupUuid) ?? [];
    },

    /**
     * Replaces the attributes and the members of a group.
     * @throws {not_found} when the organization has no such group
     * @throws {precondition_failed} when the group has changed
     * @throws {uniqueness} when the displayName is in use
     */
    async replace(
      context: CallerContext,
      id: string,
      body: Readonly<Record<string, unknown>>,
      ifMatch: string | null,
      withMembers: boolean,
    ): Promise<ShownGroup> {
      const attributes = groupAttributes(readResource(GROUP, body));
      return become(context, id, ifMatch, { members: undefined, next: () => attributes }, withMembers);
    },

    /**
     * Deletes a group; its members stay.
     * @throws {not_found} when the organization has no such group
     * @throws {precondition_failed} when the group has changed
     */
    async remove(context: CallerContext, id: string, ifMatch: string | null): Promise<void> {
      await context.transaction(async (tx) => {
        const { groupUuid, data } = await lock(tx, context, id, ifMatch);
        await store.deleteGroup(tx, groupUuid);
        await record(tx, context, "scim.group.deleted", groupUuid, { display_name: data["displayName"] });
      });
    },
  };
}

/** Groups as the service uses them. */
export type Groups = ReturnType<typeof createGroups>;
