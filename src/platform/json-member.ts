import { errors } from "./errors.ts";

/**
 * A member of a JSON object under its name or its lowerCamelCase name, which are one (decisions 15.2).
 * @throws {bad_request} when it is given under both
 */
export function memberOf(value: Readonly<Record<string, unknown>>, name: string, camelCase: string): unknown {
  if (!Object.hasOwn(value, camelCase)) return value[name];
  if (Object.hasOwn(value, name)) throw errors.badRequest({ message: `The member ${name} is given twice.` });
  return value[camelCase];
}
