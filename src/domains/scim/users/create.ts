import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { violatedConstraint } from "../../../platform/db/failure.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { parseEmail } from "../../../platform/email.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import { builtInRoles } from "../../people/index.ts";
import type { ScimDeps } from "../deps.ts";
import { scimErrors } from "../errors.ts";
import { readResource } from "../resource/read.ts";
import { USER } from "../schema/index.ts";
import { userAttributes } from "./attributes.ts";
import type { UserAttributes } from "./attributes.ts";
import type { Membership } from "./membership.ts";
import * as store from "./store.ts";
import type { UserRow } from "./store.ts";

/** @throws {uniqueness} for a statement that was refused because the userName is in use */
export function uniqueName(error: unknown): never {
  throw violatedConstraint(error)?.startsWith("scim_users") === true
    ? scimErrors.uniqueness("The userName, or the person, is there already.")
    : error;
}

/** Creates users (decisions 8.7, 8.8). */
export function createUserCreation(deps: ScimDeps, membership: Membership) {
  const { database, clock, events, people, rbac, invitations } = deps;

  async function insert(
    tx: Tx,
    context: CallerContext,
    userUuid: string,
    attributes: UserAttributes,
    standing: { active: boolean; invited: boolean },
  ): Promise<UserRow> {
    const orgUuid = callerOrg(context.caller);
    const { active: asked = true, data, folded, userName, externalId } = attributes;
    const at = dateOf(clock);
    const row = { orgUuid, userUuid, userName, externalId, ...standing, wanted: asked, data, folded, at };
    await store.insertUser(tx, row).catch(uniqueName);
    return { userUuid, ...standing, wanted: asked, data, version: 1, createdAt: at, updatedAt: at, groups: [] };
  }

  /** Somebody nobody knows: they are a member at once. */
  async function admit(
    tx: Tx,
    context: CallerContext,
    userUuid: string,
    attributes: UserAttributes,
  ): Promise<UserRow | undefined> {
    const orgUuid = callerOrg(context.caller);
    const created = await insert(tx, context, userUuid, attributes, { active: true, invited: false });
    await people.memberships.join(tx, orgUuid, userUuid, builtInRoles.employee);
    if (attributes.active !== false) return created;
    await membership.setActive(tx, context, userUuid, false);
    return store.userIn(tx, orgUuid, userUuid);
  }

  /** Somebody who is known: they are invited, unless they are this organization's own and left it. */
  async function invite(tx: Tx, context: CallerContext, attributes: UserAttributes): Promise<UserRow | undefined> {
    const org = await rbac.members.lockOwnOrganization(tx, context.caller);
    const known = await store.personByEmailIn(tx, org.uuid, attributes.email.key);
    if (known === undefined) throw scimErrors.notFound();
    if (known.member) throw scimErrors.uniqueness("Somebody with this address is a member already.");
    if (known.own) {
      const row = await admit(tx, context, known.userUuid, attributes);
      await membership.describe(tx, known.userUuid, attributes);
      return row;
    }
    const row = await insert(tx, context, known.userUuid, attributes, { active: false, invited: true });
    const email = parseEmail(known.email);
    if (row.wanted && email !== undefined) await invitations.directory.invite(tx, context, org, email);
    return row;
  }

  return {
    /**
     * Creates a user.
     * @throws {invalidValue} when an attribute has not a value of its kind, or there is no address
     * @throws {uniqueness} when the userName is in use, or somebody with the address is a member or invited
     */
    async create(context: CallerContext, body: Readonly<Record<string, unknown>>): Promise<UserRow> {
      const attributes = userAttributes(readResource(USER, body));
      const { email, firstName, lastName } = attributes;
      const orgUuid = callerOrg(context.caller);
      const known = await store.personByEmail(database, orgUuid, email.key);
      if (known !== undefined && !known.member && !known.own && attributes.active !== false)
        await invitations.directory.takeBudget(orgUuid, email.key);
      return context.transaction(async (tx) => {
        const person = { email, firstName, lastName, passwordHash: null, confirmed: false };
        const made = known === undefined ? await people.createUnlessKnown(tx, person) : undefined;
        if (made !== undefined) await store.recordMade(tx, orgUuid, made.uuid);
        const row = await (made === undefined
          ? invite(tx, context, attributes)
          : admit(tx, context, made.uuid, attributes));
        if (row === undefined) throw scimErrors.notFound();
        await events.emit(tx, EVENTS["scim.user.created"], {
          by: causedBy(context),
          orgUuid,
          userUuid: row.userUuid,
          resourceId: row.userUuid,
          metadata: { user_name: attributes.data["userName"], active: row.active, invited: row.invited },
        });
        return row;
      });
    },
  };
}
