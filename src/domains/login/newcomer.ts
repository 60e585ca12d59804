import { errors } from "../../platform/errors.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import { readUsername } from "../people/index.ts";

/** What a new person says of themselves. */
export interface Newcomer {
  firstName?: string | undefined;
  lastName?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
  /** E.164. */
  phone?: string | undefined;
}

/**
 * Reads what a new person must say: everything but the telephone number. Throws `validation_error` with all that is
 * missing or wrong.
 */
export function readNewcomer(given: Newcomer): {
  firstName: string;
  lastName: string;
  username: string;
  password: string;
  phone: string | undefined;
} {
  const firstName = given.firstName?.trim() ?? "";
  const lastName = given.lastName?.trim() ?? "";
  const password = given.password ?? "";
  const username = readUsername(given.username);
  const missing = Object.entries({ first_name: firstName, last_name: lastName, password }).filter(
    ([, value]) => value === "",
  );
  const fields: FieldViolation[] = missing.map(([field]) => ({
    field,
    code: "required",
    message: "is required of a new person",
  }));
  if ("violation" in username) throw errors.validation({ fields: [...fields, username.violation] });
  if (fields.length > 0) throw errors.validation({ fields });
  return { firstName, lastName, username: username.username, password, phone: given.phone || undefined };
}
