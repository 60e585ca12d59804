/** An attribute of a schema (RFC 7643 §7). */
export interface Attribute {
  readonly name: string;
  readonly type: "string" | "boolean" | "dateTime" | "reference" | "complex";
  readonly multiValued: boolean;
  readonly description: string;
  readonly required: boolean;
  readonly canonicalValues: readonly string[];
  readonly caseExact: boolean;
  readonly mutability: "readOnly" | "readWrite" | "immutable";
  readonly returned: "always" | "default";
  readonly uniqueness: "none" | "server" | undefined;
  readonly referenceTypes: readonly string[];
  readonly subAttributes: readonly Attribute[];
}

/** A schema: the attributes of a resource, or of an extension of one. */
export interface Schema {
  readonly urn: string;
  readonly name: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
}

/** A kind of resource with its schemas. */
export interface ResourceKind {
  readonly name: "User" | "Group";
  readonly description: string;
  /** Path below the base URL. */
  readonly endpoint: "/Users" | "/Groups";
  readonly core: Schema;
  readonly extensions: readonly Schema[];
}

type Options = Partial<Omit<Attribute, "name" | "type" | "description" | "subAttributes">>;

function attribute(
  type: Attribute["type"],
  name: string,
  description: string,
  subAttributes: readonly Attribute[],
  options: Options,
): Attribute {
  return {
    name,
    type,
    multiValued: false,
    description,
    required: false,
    canonicalValues: [],
    caseExact: type === "reference",
    mutability: "readWrite",
    returned: "default",
    uniqueness: type === "string" || type === "reference" ? "none" : undefined,
    referenceTypes: [],
    subAttributes,
    ...options,
  };
}

/** An attribute of text; case does not count unless said otherwise. */
export const text = (name: string, description: string, options: Options = {}): Attribute =>
  attribute("string", name, description, [], options);

/** An attribute that is true or false. */
export const flag = (name: string, description: string, options: Options = {}): Attribute =>
  attribute("boolean", name, description, [], options);

/** An attribute that is a time. */
export const time = (name: string, description: string, options: Options = {}): Attribute =>
  attribute("dateTime", name, description, [], options);

/** An attribute that is a URI; case counts. */
export const reference = (
  name: string,
  description: string,
  referenceTypes: readonly string[],
  options: Options = {},
): Attribute => attribute("reference", name, description, [], { referenceTypes, ...options });

/** An attribute with parts. */
export const complex = (
  name: string,
  description: string,
  subAttributes: readonly Attribute[],
  options: Options = {},
): Attribute => attribute("complex", name, description, subAttributes, options);
