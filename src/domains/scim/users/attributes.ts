import { parseEmail } from "../../../platform/email.ts";
import type { Email } from "../../../platform/email.ts";
import { shortPersonName, splitPersonName } from "../../../platform/names.ts";
import { scimErrors } from "../errors.ts";
import { foldResource } from "../resource/fold.ts";
import { demandRequired } from "../resource/read.ts";
import { foldText, isObject } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import { USER } from "../schema/index.ts";

/** What is stored of a user's attributes, and what follows from them. */
export interface UserAttributes {
  /** Undefined where the client says nothing. */
  active: boolean | undefined;
  data: Resource;
  folded: Resource;
  userName: string;
  externalId: string | null;
  email: Email;
  firstName: string;
  lastName: string;
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

/** The user's address: the primary email, otherwise the first, otherwise the userName (decisions 8.7). */
function emailOf(data: Resource): Email | undefined {
  const given = (Array.isArray(data["emails"]) ? data["emails"] : []).filter(isObject);
  // An entry may have a type alone.
  const emails = given.filter(({ value }) => textOf(value) !== "");
  const chosen = emails.find(({ primary }) => primary === true) ?? emails[0];
  return parseEmail(textOf(chosen === undefined ? data["userName"] : chosen["value"]));
}

/** Given and family name; those in the name to show, or in the whole name, where the directory gives neither. */
function namesOf(data: Resource): [first: string, last: string] {
  const name = isObject(data["name"]) ? data["name"] : {};
  const [first, last] = [textOf(name["givenName"]), textOf(name["familyName"])];
  if (first || last) return [first, last];
  return splitPersonName(textOf(data["displayName"]) || textOf(name["formatted"]));
}

/**
 * Splits a user's attributes.
 * @throws {invalidValue} when there is no userName or no address
 */
export function userAttributes(resource: Resource): UserAttributes {
  demandRequired(USER, resource);
  const { active, ...data } = resource;
  const email = emailOf(data);
  if (email === undefined)
    throw scimErrors.invalidValue(
      "The primary email, or else the first, or else the userName must be an email address.",
    );
  const [firstName, lastName] = namesOf(data);
  return {
    active: typeof active === "boolean" ? active : undefined,
    data,
    folded: foldResource(USER, data),
    userName: foldText(textOf(data["userName"])),
    externalId: textOf(data["externalId"]) || null,
    email,
    firstName: shortPersonName(firstName),
    lastName: shortPersonName(lastName),
  };
}
