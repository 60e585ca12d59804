import type { Caller } from "../../platform/caller.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";

/**
 * Refuses who may not make an organization: where sign-up is closed, everybody but platform admins. Throws `forbidden`.
 */
export function maySignUp(caller: Pick<Caller, "isPlatformAdmin" | "userUuid"> | undefined, openSignup: boolean): void {
  if (caller !== undefined && caller.userUuid === null) throw errors.forbidden();
  if (openSignup || caller?.isPlatformAdmin === true) return;
  throw errors.forbidden({ message: "Sign-up is closed; a platform administrator makes organizations." });
}

/** The signed-in person who will own the new organization; undefined where a new person will. */
export function foundsForThemselves(
  caller: Pick<Caller, "isPlatformAdmin" | "userUuid" | "email"> | undefined,
  email: string | undefined,
): string | undefined {
  if (caller === undefined || caller.userUuid === null) return undefined;
  const namesSomebodyElse =
    email !== undefined && email !== "" && parseEmail(email)?.key !== parseEmail(caller.email ?? "")?.key;
  return caller.isPlatformAdmin && namesSomebodyElse ? undefined : caller.userUuid;
}
