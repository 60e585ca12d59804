import { Power } from "../../../gen/atrium/options/v1/options_pb.ts";
import { isServiceIdentity } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import type { Policy } from "../policy.ts";
import { takesCredential } from "./credential.ts";
import type { Params } from "./params.ts";
import { callerOf } from "./step.ts";
import type { Step } from "./step.ts";

/** Refuses callers who lack a power that the rpc declares. */
export const powers: Step = {
  name: "powers",
  applies: (policy) => policy.powers.length > 0 && takesCredential(policy),
  run(policy, call, params) {
    const caller = callerOf(call);
    if (policy.ownIdentity && isServiceIdentity(caller)) return;
    for (const power of policy.powers) {
      if (holdsPower(caller, power)) continue;
      if (power === Power.ADMIN && isAdminSubstitute(policy, caller, params)) continue;
      throw errors.forbidden({ message: MESSAGES[power] ?? "This needs a power that nobody holds." });
    }
  },
};

/** Whether a caller has a power now. */
export function holdsPower(caller: Caller, power: Power): boolean {
  switch (power) {
    case Power.ADMIN:
      return caller.isAdmin;
    case Power.OWNER:
      return caller.isOwner;
    case Power.PLATFORM_ADMIN:
      return caller.isPlatformAdmin;
    case Power.SUPERUSER:
      return caller.isSuperuser;
    case Power.OPERATOR:
      return caller.isOperator;
    case Power.VAULT_WRITE:
      return caller.canWriteVault;
    case Power.EMPLOYEE:
      return caller.roles.some((role) => role !== "observer" && role !== "limited_access");
    case Power.APP_ADMIN:
      return true; // checked by the step `app-administrator`, which may refuse with 404
    default:
      return false;
  }
}

/** Whether the rpc accepts the caller in place of an administrator: an app administrator, or the person it names. */
function isAdminSubstitute(policy: Policy, caller: Caller, params: Params): boolean {
  if (policy.appAdminSuffices && caller.appAdmin.length > 0) return true;
  return policy.self !== undefined && isSelf(caller, params.text(policy.self));
}

/** Whether a person names themselves. An API key is not a person, whoever made it. */
function isSelf(caller: Caller, userUuid: string | undefined): boolean {
  return caller.userUuid !== null && userUuid?.toLowerCase() === caller.userUuid;
}

const MESSAGES: Readonly<Record<Power, string | undefined>> = {
  [Power.UNSPECIFIED]: undefined,
  [Power.ADMIN]: "This needs the power admin: ask an owner or admin of the organization.",
  [Power.OWNER]: "This needs the power owner: ask an owner of the organization.",
  [Power.APP_ADMIN]: "This needs the power app_admin of the app.",
  [Power.PLATFORM_ADMIN]: "This needs the power platform_admin.",
  [Power.SUPERUSER]: "This needs the power superuser.",
  [Power.OPERATOR]: "This needs the power operator.",
  [Power.VAULT_WRITE]: "This needs the power vault:write: a role with that permission.",
  [Power.EMPLOYEE]: "This needs at least the role employee.",
};
