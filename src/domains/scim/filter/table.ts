/** A column or an expression that an attribute is compared by. */
export interface Column {
  readonly sql: string;
  readonly type: "uuid" | "text" | "boolean" | "time";
  /** It is never null. */
  readonly notNull?: true;
}

/** Values of an attribute that are rows of other tables. */
export interface ValueRows {
  /** `from … where …` that gives the rows of one resource. */
  readonly from: string;
  /** Columns by the name of the part. */
  readonly columns: Readonly<Record<string, Column>>;
}

/** How the attributes of a kind of resource are found in SQL. */
export interface Table {
  /** Folded attributes. */
  readonly folded: string;
  /** Columns by path: `userName`, `meta.created`. */
  readonly columns: Readonly<Record<string, Column>>;
  /** Attributes whose values are rows. */
  readonly rows: Readonly<Record<string, ValueRows>>;
}

const BASE_URL = "$base";

/** An expression of a URL below the base URL of the organization's SCIM; the base URL becomes a parameter. */
const urlOf = (path: string, id: string): string => `((${BASE_URL} || '${path}' || ${id}::text) collate "C")`;

/** Replaces what {@link urlOf} leaves open. */
export const withBaseUrl = (sql: string, parameter: () => string): string =>
  sql.includes(BASE_URL) ? sql.replaceAll(BASE_URL, parameter()) : sql;

/** Users: `scim_users u`. */
export const USER_TABLE: Table = {
  folded: "u.folded",
  columns: {
    id: { sql: "u.user_uuid", type: "uuid", notNull: true },
    userName: { sql: "u.user_name", type: "text", notNull: true },
    externalId: { sql: "u.external_id", type: "text" },
    active: { sql: "u.active", type: "boolean", notNull: true },
    "meta.resourceType": { sql: `'User' collate "C"`, type: "text", notNull: true },
    "meta.created": { sql: "u.created_at", type: "time", notNull: true },
    "meta.lastModified": { sql: "u.updated_at", type: "time", notNull: true },
    "meta.location": { sql: urlOf("/Users/", "u.user_uuid"), type: "text", notNull: true },
  },
  rows: {
    groups: {
      from: `from scim_members m join scim_groups g on g.group_uuid = m.group_uuid
        where m.org_uuid = u.org_uuid and m.user_uuid = u.user_uuid`,
      columns: {
        value: { sql: "g.group_uuid", type: "uuid", notNull: true },
        $ref: { sql: urlOf("/Groups/", "g.group_uuid"), type: "text", notNull: true },
        display: { sql: "g.display_name", type: "text", notNull: true },
        type: { sql: `'direct' collate "C"`, type: "text", notNull: true },
      },
    },
  },
};

/** Groups: `scim_groups u`. */
export const GROUP_TABLE: Table = {
  folded: "u.folded",
  columns: {
    id: { sql: "u.group_uuid", type: "uuid", notNull: true },
    displayName: { sql: "u.display_name", type: "text", notNull: true },
    externalId: { sql: "u.external_id", type: "text" },
    "meta.resourceType": { sql: `'Group' collate "C"`, type: "text", notNull: true },
    "meta.created": { sql: "u.created_at", type: "time", notNull: true },
    "meta.lastModified": { sql: "u.updated_at", type: "time", notNull: true },
    "meta.location": { sql: urlOf("/Groups/", "u.group_uuid"), type: "text", notNull: true },
  },
  rows: {
    members: {
      from: "from scim_members m where m.group_uuid = u.group_uuid",
      columns: {
        value: { sql: "m.user_uuid", type: "uuid", notNull: true },
        $ref: { sql: urlOf("/Users/", "m.user_uuid"), type: "text", notNull: true },
        type: { sql: `'user' collate "C"`, type: "text", notNull: true },
      },
    },
  },
};
