import type { Caller } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import { accessErrors } from "./errors.ts";
import type { MemberRow, MembershipState } from "./member-store.ts";

/** Id of the role every owner has. */
export const adminRole = 1;

/** What is wished of a membership; absent members stay. */
export interface MembershipWish {
  roleId?: number | undefined;
  status?: "active" | "inactive" | "removed" | undefined;
  isOwner?: boolean | undefined;
}

/**
 * Whether a caller is still what their token says, by their own membership as it is now; `self` is undefined where
 * there is none, as for keys.
 */
export function stillActs(
  caller: Pick<Caller, "userUuid" | "roles" | "isOwner">,
  self: MemberRow | undefined,
): boolean {
  if (caller.userUuid === null) return true;
  return self?.status === "active" && caller.roles.includes(self.role) && caller.isOwner === self.is_owner;
}

/**
 * Refuses who may not give or take ownership: 403 `forbidden` for others than owners, `step_up_required` without an
 * elevated token.
 */
export function demandOwnership(caller: Pick<Caller, "isOwner" | "elevated">): void {
  if (!caller.isOwner) throw accessErrors.ownersOnly({ message: "Ownership is given and taken by owners only." });
  if (!caller.elevated) throw errors.stepUpRequired();
}

/** What webhooks hear of a change: its gravest part. */
export function eventOf(
  was: MemberRow,
  is: MembershipState,
): "user.deleted" | "user.deactivated" | "role.assigned" | "user.updated" {
  if (is.status === "removed") return "user.deleted";
  if (is.status === "inactive" && was.status !== "inactive") return "user.deactivated";
  return is.roleId === was.role_id ? "user.updated" : "role.assigned";
}

/**
 * What a membership becomes, or undefined when nothing changes. An owner has the role admin; another role, removal
 * and the wish end ownership. Throws 403 `forbidden` for an owner's membership that somebody else changes, 409
 * `last_owner`, 409 `conflict` for an owner who would be inactive. `others`: active owners besides this one.
 */
export function nextMembership(
  caller: Pick<Caller, "isOwner">,
  member: MemberRow,
  wish: MembershipWish,
  others: number,
): MembershipState | undefined {
  if (member.is_owner && !caller.isOwner) throw accessErrors.ownersOnly();
  const status = wish.status ?? member.status;
  const roleId = wish.isOwner === true ? adminRole : (wish.roleId ?? member.role_id);
  const isOwner = (wish.isOwner ?? member.is_owner) && roleId === adminRole && status !== "removed";
  if (wish.isOwner === true && status !== "active") throw accessErrors.ownerInactive();
  const owned = member.is_owner && member.status === "active";
  if (owned && !(isOwner && status === "active") && others === 0) throw accessErrors.lastOwner();
  const same = status === member.status && roleId === member.role_id && isOwner === member.is_owner;
  return same ? undefined : { roleId, isOwner, status };
}
