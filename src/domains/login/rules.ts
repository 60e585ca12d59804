import { personRequired } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";

/**
 * Demands that the caller may create an organization: while sign-up is closed, only platform admins may.
 * @throws {forbidden} when they may not
 */
export function demandMaySignUp(
  caller: Pick<Caller, "isPlatformAdmin" | "userUuid"> | undefined,
  openSignup: boolean,
): void {
  if (caller !== undefined && caller.userUuid === null) throw personRequired();
  if (openSignup || caller?.isPlatformAdmin === true) return;
  throw errors.forbidden({ message: "Sign-up is closed; a platform administrator makes organizations." });
}

/** The signed-in person who will own the new organization; undefined when a new person will. */
export function callerAsOwner(
  caller: Pick<Caller, "isPlatformAdmin" | "userUuid" | "email"> | undefined,
  email: string | undefined,
): string | undefined {
  if (caller === undefined || caller.userUuid === null) return undefined;
  const namesAnother =
    email !== undefined && email !== "" && parseEmail(email)?.key !== parseEmail(caller.email ?? "")?.key;
  return caller.isPlatformAdmin && namesAnother ? undefined : caller.userUuid;
}

/** An address that was parsed before it was stored. */
export function storedEmail(text: string): Email {
  const email = parseEmail(text);
  if (email === undefined) throw new Error("a stored address cannot be read");
  return email;
}

/** An email as somebody entered it, for the log: as long as an address may be, without half a surrogate pair. */
export function enteredEmail(text: string): string {
  return text.slice(0, 254).toWellFormed();
}

/** How and when a person proved who they are (RFC 8176). */
export interface Proof {
  amr: readonly string[];
  /** Absent: now. */
  authTime?: Date | undefined;
}

/** The proof a caller's token stands for; `amr` when it names none. */
export function proofOf(caller: Pick<Caller, "claims"> | undefined, amr: readonly string[]): Proof {
  const claims = caller?.claims;
  return {
    amr: Array.isArray(claims?.["amr"]) ? (claims["amr"] as string[]) : amr,
    authTime: typeof claims?.["auth_time"] === "number" ? new Date(claims["auth_time"] * 1000) : undefined,
  };
}
