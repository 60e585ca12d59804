import type { FieldViolation } from "../errors.ts";
import { foldName } from "../names.ts";
import { isCommonPassword } from "./common-passwords.ts";

const shortest = 8;
const longest = 1_024;

/** Whom the password is for, as far as known. */
export interface PasswordOwner {
  email?: string | null | undefined;
  orgName?: string | null | undefined;
}

/**
 * The rule a new password breaks, or undefined. Lengths in code points: at least 8, at most 1,024;
 * no composition rules; not on the list of common ones; not the email address or the organization's name.
 * `field` is the member's name in the request.
 */
export async function checkPassword(
  password: string,
  owner: PasswordOwner,
  field = "password",
): Promise<FieldViolation | undefined> {
  const length = [...password].length;
  if (length < shortest) return { field, code: "too_short", message: `must have at least ${shortest} characters` };
  if (length > longest) return { field, code: "too_long", message: `must have at most ${longest} characters` };
  const folded = foldName(password);
  if (folded === foldName(owner.email ?? ""))
    return { field, code: "equals_email", message: "must not be the email address" };
  if (folded === foldName(owner.orgName ?? "")) {
    return { field, code: "equals_organization", message: "must not be the organization's name" };
  }
  if (await isCommonPassword(password)) {
    return { field, code: "too_common", message: "is one of the most common passwords; choose another" };
  }
  return undefined;
}
