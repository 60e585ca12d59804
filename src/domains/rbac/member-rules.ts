import type { Caller } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import { builtInRoles } from "../people/index.ts";
import { rbacErrors } from "./errors.ts";
import type { MemberRow, MembershipState } from "./member-store.ts";

const ADMIN_ROLE = builtInRoles.admin;

/** A requested change of a membership; absent members stay. */
export interface MembershipWish {
  roleId?: number | undefined;
  status?: "active" | "inactive" | "removed" | undefined;
  isOwner?: boolean | undefined;
}

/**
 * Whether a caller still has the role that their token says, by their own membership as it is now; `self` is undefined
 * where there is none, as for keys.
 */
export function hasSameRole(
  caller: Pick<Caller, "userUuid" | "roles" | "isOwner">,
  self: MemberRow | undefined,
): boolean {
  if (caller.userUuid === null) return true;
  return self?.status === "active" && caller.roles.includes(self.role) && caller.isOwner === self.isOwner;
}

/**
 * Checks a caller who gives or takes ownership.
 * @throws {forbidden} when the caller is not an owner
 * @throws {step_up_required} when the token is not elevated
 */
export function demandOwnership(caller: Pick<Caller, "isOwner" | "elevated">): void {
  if (!caller.isOwner) throw rbacErrors.ownersOnly({ message: "Ownership is given and taken by owners only." });
  if (!caller.elevated) throw errors.stepUpRequired();
}

/** The event of a change: its most significant part. */
export function eventOf(
  was: MemberRow,
  is: MembershipState,
): "user.removed" | "membership.deactivated" | "role.assigned" | "user.updated" {
  if (is.status === "removed") return "user.removed";
  if (is.status === "inactive" && was.status !== "inactive") return "membership.deactivated";
  return is.roleId === was.roleId ? "user.updated" : "role.assigned";
}

/**
 * What a membership becomes, or undefined when nothing changes. An owner has the role admin; another role, removal
 * and a wish end ownership. `others`: active owners besides this one.
 * @throws {forbidden} when somebody who is not an owner changes an owner's membership
 * @throws {last_owner} when no active owner would be left
 * @throws {conflict} when an owner would be inactive
 */
export function nextMembership(
  caller: Pick<Caller, "isOwner">,
  member: MemberRow,
  wish: MembershipWish,
  others: number,
): MembershipState | undefined {
  if (member.isOwner && !caller.isOwner) throw rbacErrors.ownersOnly();
  const status = wish.status ?? member.status;
  const roleId = wish.isOwner === true ? ADMIN_ROLE : (wish.roleId ?? member.roleId);
  const isOwner = (wish.isOwner ?? member.isOwner) && roleId === ADMIN_ROLE && status !== "removed";
  if (wish.isOwner === true && status !== "active") throw rbacErrors.ownerInactive();
  const owned = member.isOwner && member.status === "active";
  if (owned && !(isOwner && status === "active") && others === 0) throw rbacErrors.lastOwner();
  const same = status === member.status && roleId === member.roleId && isOwner === member.isOwner;
  return same ? undefined : { roleId, isOwner, status };
}
