import { isServiceIdentity } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";

/**
 * Checks that a caller may obtain SVIDs of any identity of the organization.
 * @throws {forbidden} when they are no administrator
 * @throws {step_up_required} when their token is not elevated
 */
function demandElevatedAdmin(caller: Caller): void {
  if (!caller.isAdmin)
    throw errors.forbidden({ message: "This needs the power admin: ask an owner or admin of the organization." });
  if (!caller.elevated) throw errors.stepUpRequired();
}

/** Whether a caller is this service identity. */
export function isIdentity(caller: Caller, identityId: string): boolean {
  return isServiceIdentity(caller) && caller.principal.id === identityId;
}

/**
 * Checks that a caller may obtain SVIDs of an identity: a service identity those of its own, others as
 * {@link demandElevatedAdmin} says (decisions 17.7).
 * @throws {forbidden} {step_up_required}
 */
export function demandMayObtain(caller: Caller, identityId: string): void {
  if (!isIdentity(caller, identityId)) demandElevatedAdmin(caller);
}

/**
 * Precondition of `IssueJwtSvid`: only a service identity may call without the power over all identities.
 * @throws {forbidden} {step_up_required}
 */
export function demandJwtSvidPower(caller: Caller | undefined): void {
  if (caller !== undefined && !isServiceIdentity(caller)) demandElevatedAdmin(caller);
}
