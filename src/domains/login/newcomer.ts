import { errors } from "../../platform/errors.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import { personName } from "../../platform/names.ts";
import { readUsername } from "../people/index.ts";

/** Profile of a new person. */
export interface Newcomer {
  firstName?: string | undefined;
  lastName?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
  /** E.164. */
  phone?: string | undefined;
}

/**
 * Reads the profile of a new person; every member but the telephone number is required.
 * @throws {validation_error} when members are missing or not valid, with all of them
 */
export function readNewcomer(given: Newcomer): {
  firstName: string;
  lastName: string;
  username: string;
  password: string;
  phone: string | undefined;
} {
  const firstName = personName(given.firstName ?? "");
  const lastName = personName(given.lastName ?? "");
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
