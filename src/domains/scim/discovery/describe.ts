import { MAX_COUNT, DEFAULT_COUNT } from "../lists/list.ts";
import { GROUP, USER } from "../schema/index.ts";
import type { Attribute, ResourceKind, Schema } from "../schema/index.ts";

const CORE = "urn:ietf:params:scim:schemas:core:2.0";
const KINDS = [USER, GROUP];

/** Limits of Bulk (decisions 8.10). */
export const BULK_OPERATIONS = 1_000;
const BULK_BYTES = 1_048_576;

/** What the service can do (RFC 7643 §5). */
export function serviceProviderConfig(baseUrl: string, cursorMs: number) {
  return {
    schemas: [`${CORE}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: true, maxOperations: BULK_OPERATIONS, maxPayloadSize: BULK_BYTES },
    filter: { supported: true, maxResults: MAX_COUNT },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    pagination: {
      cursor: true,
      index: true,
      defaultPaginationMethod: "index",
      defaultPageSize: DEFAULT_COUNT,
      maxPageSize: MAX_COUNT,
      cursorTimeout: Math.floor(cursorMs / 1_000),
    },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "SCIM token",
        description: "A SCIM token of the organization, sent as Authorization: Bearer.",
        specUri: "https://www.rfc-editor.org/info/rfc6750",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${baseUrl}/ServiceProviderConfig` },
  };
}

function resourceType({ name, description, endpoint, core, extensions }: ResourceKind, baseUrl: string) {
  return {
    schemas: [`${CORE}:ResourceType`],
    id: name,
    name,
    description,
    endpoint,
    schema: core.urn,
    schemaExtensions: extensions.map(({ urn }) => ({ schema: urn, required: false })),
    meta: { resourceType: "ResourceType", location: `${baseUrl}/ResourceTypes/${name}` },
  };
}

/** The kinds of resource (RFC 7643 §6). */
export const resourceTypes = (baseUrl: string) => KINDS.map((kind) => resourceType(kind, baseUrl));

interface AttributeMessage {
  name: string;
  type: string;
  multiValued: boolean;
  description: string;
  required: boolean;
  canonicalValues: string[];
  caseExact?: boolean;
  mutability: string;
  returned: string;
  uniqueness?: string;
  referenceTypes: string[];
  subAttributes: AttributeMessage[];
}

function attributeMessage(attribute: Attribute): AttributeMessage {
  const { caseExact, uniqueness, canonicalValues, referenceTypes, subAttributes, ...rest } = attribute;
  return {
    ...rest,
    canonicalValues: [...canonicalValues],
    referenceTypes: [...referenceTypes],
    ...(uniqueness !== undefined && { caseExact, uniqueness }),
    subAttributes: subAttributes.map(attributeMessage),
  };
}

function schemaMessage({ urn, name, description, attributes }: Schema, baseUrl: string) {
  return {
    schemas: [`${CORE}:Schema`],
    id: urn,
    name,
    description,
    attributes: attributes.map(attributeMessage),
    meta: { resourceType: "Schema", location: `${baseUrl}/Schemas/${urn}` },
  };
}

/** The schemas of resources (RFC 7643 §7). */
export const schemas = (baseUrl: string) =>
  KINDS.flatMap(({ core, extensions }) => [core, ...extensions]).map((schema) => schemaMessage(schema, baseUrl));
