import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { parseEmail } from "../../../platform/email.ts";
import type { Email } from "../../../platform/email.ts";
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
      if (person?.own !== true || user.invited) return;
      const changed = await membership.describe(tx, userUuid, next);
      const profile = { user_uuid: userUuid, email: next.email.address, changed };
      if (changed.length > 0) await events.notify(tx, EVENTS["profile.updated"], { orgUuid, data: profile });
    }
  }

  /**
   * Gives a user other attributes, as a function of those they have; `active` absent leaves the membership as it is.
   * Changes nothing where that sends an invitation to another address than `budgetedKey`; returns the key of that one.
   */
  async function tryToBecome(
    context: CallerContext,
    id: string,
    ifMatch: string | null,
    next: (current: Resource) => UserAttributes,
    budgetedKey: string | undefined,
  ): Promise<UserRow | string> {
    return context.transaction(async (tx) => {
      const { org, user } = await lock(tx, context, id, ifMatch);
      const { userUuid, invited } = user;
      const was = invited ? user.wanted : user.active;
      const attributes = next({ ...user.data, active: was });
      const { active = was } = attributes;
      const email = invited ? await addressOf(tx, org.uuid, userUuid) : undefined;
      const isMissing = email !== undefined && active && !(await invitations.directory.isOpen(tx, org.uuid, email.key));
      if (isMissing && email.key !== budgetedKey) return email.key;
      await describe(tx, org.uuid, user, attributes, invited ? active : user.wanted);
      if (!invited && active !== was) await membership.setActive(tx, context, userUuid, active);
      if (email !== undefined && !active) await invitations.directory.withdraw(tx, context, org.uuid, email);
      if (isMissing) await invitations.directory.invite(tx, context, org, email);
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

  /** As {@link tryToBecome}; takes an invitation from the budgets between two transactions, not inside one. */
  async function become(
    context: CallerContext,
    id: string,
    ifMatch: string | null,
    next: (current: Resource) => UserAttributes,
  ): Promise<UserRow> {
    let budgetedKey: string | undefined;
    for (;;) {
      const changed = await tryToBecome(context, id, ifMatch, next, budgetedKey);
      if (typeof changed !== "string") return changed;
      await invitations.directory.takeBudget(callerOrg(context.caller), changed);
      budgetedKey = changed;
    }
  }

  async function addressOf(tx: Tx, orgUuid: string, userUuid: string): Promise<Email | undefined> {
    return parseEmail((await store.personIn(tx, orgUuid, userUuid))?.email ?? "");
  }

  return {
    ...createUserCreation(deps, membership),

    /**
     * Changes the attributes of a user by a function of those they have.
     * @throws {not_found} when the organization has no such user
     * @throws {precondition_failed} when the user has changed
     * @throws {uniqueness} when the userName or the address is in use
     * @throws {conflict} when an owner would be deactivated
     * @throws {rate_limited} when they are to be invited again, and a budget is used up
     * @throws {unavailable} when they are to be invited again, and mail is off
     */
    change: (
      context: CallerContext,
      id: string,
      ifMatch: string | null,
      next: (current: Resource) => Resource,
    ): Promise<UserRow> => become(context, id, ifMatch, (current) => userAttributes(next(current))),

    /** @throws {not_found} when the organization has no such user */
    async find({ caller }: CallerContext, id: string): Promise<UserRow> {
      const row = isUuid(id) ? await store.findUser(database, callerOrg(caller), id.toLowerCase()) : undefined;
      if (row === undefined) throw scimErrors.notFound();
      return row;
    },

    /**
     * Replaces the attributes of a user; without `active`, the membership stays as it is.
     * @throws {invalidValue} when an attribute has not a value of its kind, or there is no address
     * @throws {not_found}, {precondition_failed}, {uniqueness}, {conflict}, {rate_limited}, {unavailable} as `change`
     */
    async replace(
      context: CallerContext,
      id: string,
      body: Readonly<Record<string, unknown>>,
      ifMatch: string | null,
    ): Promise<UserRow> {
      // The body is refused before the user is looked for (decisions 1.7).
      const attributes = userAttributes(readResource(USER, body));
      return become(context, id, ifMatch, () => attributes);
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
          const email = await addressOf(tx, org.uuid, userUuid);
          if (email !== undefined) await invitations.directory.withdraw(tx, context, org.uuid, email);
          await store.deleteUser(tx, org.uuid, userUuid, dateOf(clock));
        } else await membership.remove(tx, context, userUuid);
        await record(tx, context, "scim.user.deleted", userUuid, { user_name: data["userName"], invited });
      });
    },
  };
}

/** Users as the service uses them. */
export type Users = ReturnType<typeof createUsers>;
