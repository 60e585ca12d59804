import type { FieldViolation } from "../errors.ts";
import { foldName } from "../names.ts";
import { isCommonPassword } from "./common-passwords.ts";

const MIN_LENGTH = 8;
const MAX_LENGTH = 1_024;

/** The account the password is for, as far as known. */
export interface PasswordOwner {
  email?: string | null | undefined;
  orgName?: string | null | undefined;
}

/**
 * Returns the violated rule for a new password, or undefined. Lengths in code points: at least 8, at most 1,024;
 * no composition rules; not on the list of common ones; not the email address or the organization's name.
 * `field` is the member's name in the request.
 */
export async function checkPassword(
  password: string,
  owner: PasswordOwner,
  field = "password",
): Promise<FieldViolation | undefined> {
  const violation = checkPasswordLength(password, field);
  if (violation !== undefined) return violation;
  if (isName(password, owner.email)) return { field, code: "equals_email", message: "must not be the email address" };
  if (isName(password, owner.orgName))
    return { field, code: "equals_organization", message: "must not be the organization's name" };
  if (await isCommonPassword(password)) {
    return { field, code: "too_common", message: "is one of the most common passwords; choose another" };
  }
  return undefined;
}

/** The rules of `checkPassword` that need neither its owner nor a list: those for the length. */
export function checkPasswordLength(password: string, field = "password"): FieldViolation | undefined {
  const length = [...password].length;
  if (length < MIN_LENGTH) return { field, code: "too_short", message: `must have at least ${MIN_LENGTH} characters` };
  if (length > MAX_LENGTH) return { field, code: "too_long", message: `must have at most ${MAX_LENGTH} characters` };
  return undefined;
}

/** Whether a password is a name as names are compared; a name that is not known is none. */
function isName(password: string, name: string | null | undefined): boolean {
  const folded = foldName(name ?? "");
  return folded !== "" && folded === foldName(password);
}
