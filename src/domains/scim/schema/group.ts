import { complex, reference, text } from "./attribute.ts";
import type { ResourceKind } from "./attribute.ts";

/** Teams of the organization. */
export const GROUP: ResourceKind = {
  name: "Group",
  description: "A team of the organization; it carries no power.",
  endpoint: "/Groups",
  core: {
    urn: "urn:ietf:params:scim:schemas:core:2.0:Group",
    name: "Group",
    description: "A team of the organization; it carries no power.",
    attributes: [
      text("displayName", "Name, unique in the organization without case.", { required: true, uniqueness: "server" }),
      complex(
        "members",
        "Users in it.",
        [
          text("value", "Id of the user.", { mutability: "immutable" }),
          reference("$ref", "URL of the user.", ["User"], { mutability: "immutable" }),
          text("type", "Always User.", { mutability: "immutable", canonicalValues: ["User"] }),
        ],
        { multiValued: true },
      ),
    ],
  },
  extensions: [],
};
