import { createBatches } from "../../../platform/batches.ts";
import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { violatedConstraint } from "../../../platform/db/failure.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { parseEmail } from "../../../platform/email.ts";
import { ServiceError } from "../../../platform/errors.ts";
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
import type { NewUser, UserRow } from "./store.ts";

/** @throws {uniqueness} for a statement that was refused because the userName is in use */
export function uniqueName(error: unknown): never {
  throw violatedConstraint(error)?.startsWith("scim_users") === true
    ? scimErrors.uniqueness("The userName, or the person, is there already.")
    : error;
}

const rowOf = (user: NewUser, at: Date): UserRow => {
  const { userUuid, active, invited, wanted, data } = user;
  return { userUuid, active, invited, wanted, data, version: 1, createdAt: at, updatedAt: at, groups: [] };
};

/** Attributes of a user who is to be active; undefined where they are refused. */
function simpleAttributes(body: Readonly<Record<string, unknown>>): UserAttributes | undefined {
  try {
    const attributes = userAttributes(readResource(USER, body));
    return attributes.active === false ? undefined : attributes;
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** Maximum number of requests that one statement looks addresses up for. */
const MAX_BATCH = 256;

/** Creates users (decisions 8.7, 8.8). */
export function createUserCreation(deps: ScimDeps, membership: Membership) {
  const { database, clock, events, people, rbac, invitations } = deps;

  /** Whether an address has an account. The requests of one turn of the event loop share a statement. */
  const isInUse = createBatches<string, boolean>(MAX_BATCH, async (keys) => {
    const used = await store.addressesInUse(database, [...new Set(keys)]);
    return keys.map((key) => used.has(key));
  });

  async function insert(
    tx: Tx,
    context: CallerContext,
    userUuid: string,
    attributes: UserAttributes,
    { made = false, ...standing }: { active: boolean; invited: boolean; made?: boolean },
  ): Promise<UserRow> {
    const orgUuid = callerOrg(context.caller);
    const [at, user] = [dateOf(clock), { ...attributes, ...standing, userUuid, wanted: attributes.active ?? true }];
    await store.insertUsers(tx, orgUuid, [user], at, { made }).catch(uniqueName);
    return rowOf(user, at);
  }

  function recordCreated(tx: Tx, context: CallerContext, rows: readonly UserRow[]): Promise<void> {
    const orgUuid = callerOrg(context.caller);
    const created = rows.map(({ userUuid, data, active, invited }) => ({
      by: causedBy(context),
      orgUuid,
      userUuid,
      resourceId: userUuid,
      metadata: { user_name: data["userName"], active, invited },
    }));
    return events.emitEach(tx, EVENTS["scim.user.created"], created);
  }

  /** People nobody knows: they are members at once. */
  async function admitAll(
    tx: Tx,
    context: CallerContext,
    userUuids: readonly string[],
    all: readonly UserAttributes[],
  ): Promise<UserRow[]> {
    const [orgUuid, at] = [callerOrg(context.caller), dateOf(clock)];
    const users = all.map((attributes, index) => ({
      ...attributes,
      userUuid: userUuids[index] as string,
      active: true,
      invited: false,
      wanted: true,
    }));
    const rows = users.map((user) => rowOf(user, at));
    // Sent without waiting for each other. The memberships come last: whoever joins this organization meanwhile waits
    // for the number of its members from then until the commit.
    await Promise.all([
      store.insertUsers(tx, orgUuid, users, at, { made: true }).catch(uniqueName),
      recordCreated(tx, context, rows),
      people.memberships.joinAll(tx, orgUuid, userUuids, builtInRoles.employee),
    ]);
    return rows;
  }

  /** Somebody who becomes a member, and an inactive one where their attributes say so; `made` by SCIM just now. */
  async function admit(
    tx: Tx,
    context: CallerContext,
    userUuid: string,
    attributes: UserAttributes,
    made: boolean,
  ): Promise<UserRow | undefined> {
    const orgUuid = callerOrg(context.caller);
    const created = await insert(tx, context, userUuid, attributes, { active: true, invited: false, made });
    await people.memberships.join(tx, orgUuid, userUuid, builtInRoles.employee);
    if (attributes.active !== false) return created;
    await membership.setActive(tx, context, userUuid, false);
    return store.userIn(tx, orgUuid, userUuid);
  }

  /** Somebody who is known: they are invited, unless they are this organization's own and left it. */
  async function invite(tx: Tx, context: CallerContext, attributes: UserAttributes): Promise<UserRow | undefined> {
    const org = await rbac.members.lockOwnOrganization(tx, context.caller);
    const seen = await store.personByEmailIn(tx, org.uuid, attributes.email.key);
    if (seen === undefined) throw scimErrors.notFound();
    // From here on nobody gives them another address, or proves their mailbox.
    await people.lock(tx, seen.userUuid);
    const known = await store.personByEmailIn(tx, org.uuid, attributes.email.key);
    if (known?.userUuid !== seen.userUuid)
      throw scimErrors.uniqueness("The account of the address has changed meanwhile; send the request again.");
    if (known.member) throw scimErrors.uniqueness("Somebody with this address is a member already.");
    if (known.own) {
      const row = await admit(tx, context, known.userUuid, attributes, false);
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
      const { email } = attributes;
      const orgUuid = callerOrg(context.caller);
      const known = (await isInUse(email.key)) ? await store.personByEmail(database, orgUuid, email.key) : undefined;
      if (known !== undefined && !known.member && !known.own && attributes.active !== false)
        await invitations.directory.takeBudget(orgUuid, email.key);
      return context.transaction(async (tx) => {
        const [made] = known === undefined ? await people.createAllUnlessKnown(tx, [attributes]) : [];
        if (made !== undefined && attributes.active !== false) {
          const [created] = await admitAll(tx, context, [made], [attributes]);
          if (created !== undefined) return created;
        }
        const row = await (made === undefined
          ? invite(tx, context, attributes)
          : admit(tx, context, made, attributes, true));
        if (row === undefined) throw scimErrors.notFound();
        await recordCreated(tx, context, [row]);
        return row;
      });
    },

    /**
     * Creates in one transaction those users who become active members and whom nobody knows; undefined for the others,
     * which are to be created one by one. Rejects, and creates nobody, when one of them is refused.
     */
    async createTogether(
      context: CallerContext,
      bodies: readonly Readonly<Record<string, unknown>>[],
    ): Promise<(UserRow | undefined)[]> {
      const read = bodies.map(simpleAttributes);
      const keys = read.flatMap((attributes) => attributes?.email.key ?? []);
      const taken = new Set(await store.addressesInUse(database, keys));
      // Two with one address: the second one is refused.
      const chosen = read.map((attributes) => {
        if (attributes === undefined || taken.has(attributes.email.key)) return undefined;
        taken.add(attributes.email.key);
        return attributes;
      });
      const together = chosen.filter((attributes) => attributes !== undefined);
      if (together.length < 2) return [];
      const rows = await context.transaction(async (tx) => {
        const made = await people.createAllUnlessKnown(tx, together);
        const uuids = made.filter((uuid) => uuid !== undefined);
        if (uuids.length < made.length) throw scimErrors.uniqueness("An address has an account by now.");
        return admitAll(tx, context, uuids, together);
      });
      let next = 0;
      return chosen.map((attributes) => (attributes === undefined ? undefined : rows[next++]));
    },
  };
}
