import type { Caller } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import { NAME } from "./html/index.ts";

/** Maximum size of a template's body and of a variable's value, bytes of UTF-8. */
const MAX_BODY_BYTES = 262_144;
/** Maximum size of a rendered document, bytes of UTF-8. */
export const MAX_DOCUMENT_BYTES = 5 * 1_048_576;
/** Maximum number of templates of an organization, and of variables in one scope. */
export const MAX_ROWS = 1_000;
/** Maximum number of names that a template declares. */
const MAX_NAMES = 200;

/** Whether a caller changes global variables. */
export const mayChangeGlobal = (caller: Caller): boolean => caller.isAdmin;

/** @throws {validation_error} when a text has more bytes than stored texts may have */
export function checkSize(field: "body" | "value", text: string): void {
  if (Buffer.byteLength(text) > MAX_BODY_BYTES)
    throw errors.validation({ fields: [{ field, code: "too_long", message: "must have at most 262,144 bytes" }] });
}

/**
 * The names that a template declares, of a list of any JSON values.
 * @throws {validation_error} for anything but at most 200 different names
 */
export function declaredNames(values: readonly unknown[]): string[] {
  const fail = (field: string, code: string, message: string) =>
    errors.validation({ fields: [{ field, code, message }] });
  if (values.length > MAX_NAMES) throw fail("variables", "too_many", "must have at most 200 items");
  const names = values.map((value, nth) => {
    if (typeof value !== "string" || !NAME.test(value))
      throw fail(`variables[${nth}]`, "pattern", "must be a name such as first_name");
    return value;
  });
  if (new Set(names).size < names.length) throw fail("variables", "duplicate", "must not repeat an item");
  return names;
}
