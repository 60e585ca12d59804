import { callerOrg } from "../../../platform/caller.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Tx } from "../../../platform/db/types.ts";
import type { ScimDeps } from "../deps.ts";
import { scimErrors } from "../errors.ts";
import type { UserAttributes } from "./attributes.ts";

/** What SCIM does to memberships and to people (decisions 8.8). */
export function createMembership({ people, rbac, offboarding }: Pick<ScimDeps, "people" | "rbac" | "offboarding">) {
  async function change(
    tx: Tx,
    context: CallerContext,
    userUuid: string,
    status: "active" | "inactive" | "removed",
  ): Promise<void> {
    const member = await rbac.members.find(tx, callerOrg(context.caller), userUuid);
    if (member === undefined) throw scimErrors.notFound();
    if (member.isOwner) throw scimErrors.ownerStays();
    await offboarding.members.change(tx, context, member, { status }, "scim");
  }

  return {
    /**
     * Activates or deactivates a membership. Sessions, refresh tokens and API keys in the organization end with it.
     * The organization must be locked.
     * @throws {conflict} for an owner
     */
    setActive: (tx: Tx, context: CallerContext, userUuid: string, active: boolean): Promise<void> =>
      change(tx, context, userUuid, active ? "active" : "inactive"),

    /**
     * Ends a membership, as {@link setActive}.
     * @throws {conflict} for an owner
     */
    remove: (tx: Tx, context: CallerContext, userUuid: string): Promise<void> =>
      change(tx, context, userUuid, "removed"),

    /**
     * Gives a person whom SCIM of this organization made the names and the address of their attributes; returns the
     * names of what has changed.
     * @throws {uniqueness} when the address has another account
     */
    async describe(tx: Tx, userUuid: string, { email, firstName, lastName }: UserAttributes): Promise<string[]> {
      const changed = await people.describe(tx, userUuid, { firstName, lastName });
      const hasMoved = await people.readdress(tx, userUuid, email).catch((error: unknown) => {
        throw (error as { code?: unknown }).code === "email_taken"
          ? scimErrors.uniqueness("The address has another account.")
          : error;
      });
      return hasMoved ? [...changed, "email"] : changed;
    },
  };
}

/** What SCIM does to memberships and to people. */
export type Membership = ReturnType<typeof createMembership>;
