import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { parseEmail } from "../../../platform/email.ts";
import { isUuid } from "../../../platform/value-rules.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { ScimDeps } from "../deps.ts";
import { scimErrors } from "../errors.ts";
import { demandMatch } from "../resource/etag.ts";
import { readResource } from "../resource/read.ts";
import { sameJson } from "../resource/values.ts";
import type { Resource } from "../resource/values.ts";
import { USER } from "../schema/index.ts";
import { userAttributes } from "./attributes.ts";
import type { UserAttributes } from "./attributes.ts";
import { createUserCreation, uniqueName } from "./create.ts";
import { createMembership } from "./membership.ts";
import { userEtag } from "./present.ts";
import * as store from "./store.ts";
import type { UserRow } from "./store.ts";

/** Users of an organization: members, and people who are invited (decisions 8.7, 8.8). */
export function createUsers(deps: ScimDeps) {
  const { database, clock, events, people, rbac, invitations } = deps;
  const membership = createMembership(deps);

  /** A user of the caller's organization, which is locked. */
  async function lock(tx: Tx, context: CallerContext, id: string, ifMatch: string | null) {
    const org = await rbac.members.lockOwnOrganization(tx, context.caller);
    if (!isUuid(id)) throw scimErrors.notFound();
    await people.lock(tx, id);
    const user = await store.userIn(tx, org.uuid, id.toLowerCase());
    if (user === undefined) throw scimErrors.notFound();
    demandMatch(ifMatch, userEtag(user));
    return { org, user };
  }

  async function record(
    tx: Tx,
    context: CallerContext,
    type: "scim.user.updated" | "scim.user.deleted",
    userUuid: string,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const orgUuid = callerOrg(context.caller);
    await events.emit(tx, EVENTS[type], { by: causedBy(context), orgUuid, userUuid, resourceId: userUuid, metadata });
  }

  /** Stores attributes where they differ, and gives them to the person where SCIM may. */
  async function describe(tx: Tx, orgUuid: string, user: UserRow, next: UserAttributes, wanted: boolean) {
    const { userUuid } = user;
    if (!sameJson(user.data, next.data) || wanted !== user.wanted) {
      const { data, folded, userName, externalId } = next;
      const row = { orgUuid, userUuid, userName, externalId, wanted, data, folded, at: dateOf(clock) };
      await store.updateUser(tx, row).catch(uniqueName);
      const person = await store.personIn(tx, orgUuid, userUuid);
      if (person?.own === true && !user.invited) await membership.describe(tx, userUuid, next);
    }
  }

  /** Changes attributes by a function of those a user has; `active` absent leaves the membership as it is. */
  async function change(
    context: CallerContext,
    id: string,
    ifMatch: string | null,
    next: (current: Resource) => Resource,
  ): Promise<UserRow> {
    return context.transaction(async (tx) => {
      const { org, user } = await lock(tx, context, id, ifMatch);
      const { userUuid, invited } = user;
      const was = invited ? user.wanted : user.active;
      const attributes = userAttributes(next({ ...user.data, active: was }));
      const { active = was } = attributes;
      await describe(tx, org.uuid, user, attributes, invited ? active : true);
      if (!invited && active !== was) await membership.setActive(tx, context, userUuid, active);
      if (invited) await follow(tx, context, org, user, active);
      const after = await store.userIn(tx, org.uuid, userUuid);
      if (after === undefined) throw scimErrors.notFound();
      if (after.version !== user.version) {
        const changed = [...new Set([...Object.keys(user.data), ...Object.keys(after.data)])].filter(
          (name) => !sameJson(user.data[name], after.data[name]),
        );
        await record(tx, context, "scim.user.updated", userUuid, { changed, active: after.active });
      }
      return after;
    });
  }

  /** Keeps the invitation of an invited user as `wanted` says. */
  async function follow(
    tx: Tx,
    context: CallerContext,
    org: Awaited<ReturnType<typeof rbac.members.lockOwnOrganization>>,
    user: UserRow,
    wanted: boolean,
  ): Promise<void> {
    const person = await store.personIn(tx, org.uuid, user.userUuid);
    const email = parseEmail(person?.email ?? "");
    if (email === undefined) return;
    if (!wanted) return invitations.directory.withdraw(tx, context, org.uuid, email);
    if (!(await invitations.directory.isOpen(tx, org.uuid, email.key)))
      await invitations.directory.invite(tx, context, org, email);
  }

  return {
    ...createUserCreation(deps, membership),
    change,

    /** @throws {not_found} when the organization has no such user */
    async find({ caller }: CallerContext, id: string): Promise<UserRow> {
      const row = isUuid(id) ? await store.findUser(database, callerOrg(caller), id.toLowerCase()) : undefined;
      if (row === undefined) throw scimErrors.notFound();
      return row;
    },

    /**
     * Replaces the attributes of a user; without `active`, the membership stays as it is.
     * @throws {not_found} when the organization has no such user
     * @throws {precondition_failed} when the user has changed
     * @throws {uniqueness} when the userName or the address is in use
     * @throws {conflict} when an owner would be deactivated
     */
    async replace(
      context: CallerContext,
      id: string,
      body: Readonly<Record<string, unknown>>,
      ifMatch: string | null,
    ): Promise<UserRow> {
      const read = readResource(USER, body);
      return change(context, id, ifMatch, () => read);
    },

    /**
     * Ends the membership of a user, or withdraws their invitation.
     * @throws {not_found} when the organization has no such user
     * @throws {precondition_failed} when the user has changed
     * @throws {conflict} for an owner
     */
    async remove(context: CallerContext, id: string, ifMatch: string | null): Promise<void> {
      await context.transaction(async (tx) => {
        const { org, user } = await lock(tx, context, id, ifMatch);
        const { userUuid, invited, data } = user;
        if (invited) {
          await follow(tx, context, org, user, false);
          await store.deleteUser(tx, org.uuid, userUuid, dateOf(clock));
        } else await membership.remove(tx, context, userUuid);
        await record(tx, context, "scim.user.deleted", userUuid, { user_name: data["userName"], invited });
      });
    },
  };
}

/** Users as the service uses them. */
export type Users = ReturnType<typeof createUsers>;
