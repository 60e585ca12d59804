import { complex, flag, reference, text } from "./attribute.ts";
import type { Attribute, ResourceKind } from "./attribute.ts";

/** URN of the Enterprise extension. */
export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

const primary = flag("primary", "Whether it is the preferred one; at most one is.");
const type = (...canonicalValues: string[]) => text("type", "What it is for.", { canonicalValues });

function values(name: string, description: string, value: Attribute, types: string[]): Attribute {
  return complex(name, description, [value, text("display", "The value for people."), type(...types), primary], {
    multiValued: true,
  });
}

const attributes: readonly Attribute[] = [
  text("userName", "Name the client knows the user by, unique in the organization without case.", {
    required: true,
    uniqueness: "server",
  }),
  complex("name", "Parts of the name.", [
    text("formatted", "All of it."),
    text("familyName", "Family name."),
    text("givenName", "Given name."),
    text("middleName", "Middle names."),
    text("honorificPrefix", "Titles before it."),
    text("honorificSuffix", "Titles after it."),
  ]),
  text("displayName", "Name to show."),
  text("nickName", "Casual name."),
  reference("profileUrl", "URL of a page about the user.", ["external"]),
  text("title", "Title."),
  text("userType", "Relation to the organization."),
  text("preferredLanguage", "Preferred languages, as in Accept-Language."),
  text("locale", "Locale."),
  text("timezone", "Time zone, IANA name."),
  flag("active", "Whether the membership is active; false until an invited user accepts."),
  values(
    "emails",
    "Emails; the primary one, or else the first, is the user's address.",
    text("value", "The address."),
    ["work", "home", "other"],
  ),
  values("phoneNumbers", "Telephone numbers.", text("value", "The number."), [
    "work",
    "home",
    "mobile",
    "fax",
    "pager",
    "other",
  ]),
  values("ims", "Instant messaging addresses.", text("value", "The address."), []),
  values("photos", "URLs of pictures.", reference("value", "URL of the picture.", ["external"]), [
    "photo",
    "thumbnail",
  ]),
  complex(
    "addresses",
    "Postal addresses.",
    [
      text("formatted", "All of it."),
      text("streetAddress", "Street and house number."),
      text("locality", "City."),
      text("region", "State or region."),
      text("postalCode", "Postal code."),
      text("country", "Country, ISO 3166-1 alpha-2."),
      type("work", "home", "other"),
      primary,
    ],
    { multiValued: true },
  ),
  complex(
    "groups",
    "Groups the user is in; changed at the group.",
    [
      text("value", "Id of the group.", { mutability: "readOnly" }),
      reference("$ref", "URL of the group.", ["Group"], { mutability: "readOnly" }),
      text("display", "Name of the group.", { mutability: "readOnly" }),
      text("type", "Always direct.", { mutability: "readOnly", canonicalValues: ["direct"] }),
    ],
    { multiValued: true, mutability: "readOnly" },
  ),
];

const enterprise: readonly Attribute[] = [
  text("employeeNumber", "Employee number."),
  text("costCenter", "Cost center."),
  text("organization", "Organization."),
  text("division", "Division."),
  text("department", "Department."),
  complex("manager", "The user's manager.", [
    text("value", "Id of the manager.", { caseExact: true }),
    reference("$ref", "URL of the manager.", ["User"]),
    text("displayName", "Name to show.", { mutability: "readOnly" }),
  ]),
];

/** Members of the organization, and those invited. */
export const USER: ResourceKind = {
  name: "User",
  description: "A member of the organization, or somebody invited.",
  endpoint: "/Users",
  core: {
    urn: "urn:ietf:params:scim:schemas:core:2.0:User",
    name: "User",
    description: "A member of the organization, or somebody invited.",
    attributes,
  },
  extensions: [
    { urn: ENTERPRISE, name: "EnterpriseUser", description: "Attributes of employees.", attributes: enterprise },
  ],
};
