/** What is true of a live credential at this moment. Rows are cached, and never changed. */
export interface LiveRow {
  /** When it ends by itself, epoch milliseconds. */
  readonly until: number;
}

/** The state of a session; the rest of its caller is in the token. */
export interface SessionRow extends LiveRow {
  readonly user_uuid: string;
  readonly org_uuid: string | null;
  readonly email: string;
  readonly org_name: string | null;
  readonly is_owner: boolean | null;
  readonly membership_version: number | null;
  readonly is_superuser: boolean;
  readonly is_operator: boolean;
  /** Creation time of the organization's newest app, epoch milliseconds; null without apps. */
  readonly newest_app: number | null;
}

/** The organization that a credential belongs to. */
interface OfOrganization extends LiveRow {
  readonly org_uuid: string;
  readonly org_name: string;
}

/** A credential whose secret is stored as its SHA-256. */
export interface OpaqueRow extends OfOrganization {
  /** Hexadecimal. */
  readonly hash: string;
}

/** What callers of an organization may do there. */
interface Entitled {
  readonly role: string;
  readonly sandbox: boolean;
  readonly entitlements: readonly string[];
}

/** An API key within the present power of its maker. */
export interface ApiKeyRow extends OpaqueRow, Entitled {
  readonly scopes: readonly string[];
  /** The person who made it; null where a service identity did. */
  readonly made_by: string | null;
  readonly made_by_identity: string | null;
  /** Version of the membership or the identity. */
  readonly maker_version: number;
  readonly is_owner: boolean;
  readonly is_platform_admin: boolean;
  /** Ids of the apps that its maker administers. */
  readonly app_admin: readonly string[];
}

/** A service identity that acts by one of its credentials. */
export interface IdentityRow extends OfOrganization, Entitled {
  readonly identity_id: string;
  readonly identity_version: number;
}

/** An automation token. */
export type AutomationTokenRow = IdentityRow & OpaqueRow;

/** An X.509-SVID. */
export interface SvidRow extends IdentityRow {
  readonly svid_id: string;
  readonly spiffe_id: string;
}
