import { complex, reference, text, time } from "./attribute.ts";
import type { Attribute } from "./attribute.ts";

const READ_ONLY = { mutability: "readOnly" } as const;

/** Attributes of every resource, which no schema lists (RFC 7643 §3.1). */
export const COMMON_ATTRIBUTES: readonly Attribute[] = [
  reference("schemas", "URNs of the schemas.", ["uri"], { ...READ_ONLY, multiValued: true, returned: "always" }),
  text("id", "Id of the resource.", { ...READ_ONLY, caseExact: true, returned: "always", uniqueness: "server" }),
  text("externalId", "The client's own id.", { caseExact: true }),
  complex(
    "meta",
    "About the resource.",
    [
      text("resourceType", "Kind of resource.", { ...READ_ONLY, caseExact: true }),
      time("created", "When it was created.", READ_ONLY),
      time("lastModified", "When it changed last.", READ_ONLY),
      reference("location", "URL of the resource.", ["uri"], READ_ONLY),
      text("version", "Weak ETag.", { ...READ_ONLY, caseExact: true }),
    ],
    READ_ONLY,
  ),
];
