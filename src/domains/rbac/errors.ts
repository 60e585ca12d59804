import { defineErrors } from "../../platform/errors.ts";

/** Errors of roles, permissions and members. */
export const rbacErrors = defineErrors({
  roleNotFound: [404, "role_not_found", "The organization has no such role."],
  userNotFound: [404, "user_not_found", "The organization has no such member."],
  permissionNotFound: [
    400,
    "permission_not_found",
    "A permission is not in the catalogue; see GET /api/roles/permissions.",
  ],
  roleNameTaken: [409, "role_name_taken", "The organization has a role of this name; choose another."],
  tooManyRoles: [409, "conflict", "The organization has 1,000 roles of its own; use one of them."],
  roleImmutable: [409, "role_immutable", "A built-in role never changes; make a role of your own."],
  lastOwner: [409, "last_owner", "The organization would be left without an owner; make somebody else owner first."],
  abovePower: [403, "forbidden", "Nobody grants more than their own power."],
  ownersOnly: [403, "forbidden", "An owner's membership is changed by owners only."],
  ownerInactive: [409, "conflict", "An owner is an active member; activate the membership first."],
});
