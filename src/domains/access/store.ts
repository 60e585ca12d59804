import type { Tx } from "../../platform/db/types.ts";

/** A person and their membership, as tokens state them; read in the transaction that issues the token. */
export interface Standing {
  userUuid: string;
  id: number;
  email: string;
  credentialsVersion: number;
  isPlatformAdmin: boolean;
  /** The organization they act in; null for a token without one. */
  org: OrgStanding | null;
}

/** The membership of a person. */
export interface OrgStanding {
  uuid: string;
  name: string;
  sandbox: boolean;
  /** Members other than owners enter by single sign-on alone. */
  ssoRequired: boolean;
  features: string[];
  role: string;
  roleId: number;
  isOwner: boolean;
  /** Rises with every change of role. */
  membershipVersion: number;
}

interface StandingRow {
  wanted_org_uuid: string | null;
  uuid: string;
  id: number;
  email: string;
  credentials_version: number;
  is_platform_admin: boolean;
  org_uuid: string | null;
  org_name: string;
  sandbox: boolean;
  sso_required: boolean;
  features: string[];
  role: string;
  role_id: number;
  is_owner: boolean;
  membership_version: number;
}

/** The standing of the one row of `subject`, which has the columns `user_uuid` and `org_uuid`. */
const standingOf = (subject: string): string => `
  select p.uuid, p.id, p.email, p.credentials_version, p.is_platform_admin, s.org_uuid as wanted_org_uuid,
    o.uuid as org_uuid, o.name as org_name, o.sandbox, o.sso_required, plans.features, r.name as role, m.role_id,
    m.is_owner, m.version as membership_version
  from ${subject} as s
  join people p on p.uuid = s.user_uuid
  left join memberships m on m.user_uuid = p.uuid and m.org_uuid = s.org_uuid and m.status = 'active'
  left join organizations o on o.uuid = m.org_uuid and o.deleted_at is null
  left join plans on plans.plan = o.plan
  left join roles r on r.id = m.role_id
  for share of p`;

const standingSql = standingOf("(select $1::uuid as user_uuid, $2::uuid as org_uuid)");

/**
 * What somebody is in an organization, or in none. The person's row is share locked, so that a password change
 * and the session that is being opened cannot miss each other. Undefined for an unknown person, and for an
 * organization they are no active member of.
 */
export async function readStanding(tx: Tx, userUuid: string, orgUuid: string | null): Promise<Standing | undefined> {
  return toStanding(await tx.query<StandingRow>(standingSql, [userUuid, orgUuid]));
}

/**
 * The same where a query names person and organization, as `user_uuid` and `org_uuid` of at most one row: the statement
 * need not wait for the answer to that query. `subject` must be a constant.
 */
export async function readStandingOf(
  tx: Tx,
  subject: string,
  params: readonly unknown[],
): Promise<Standing | undefined> {
  return toStanding(await tx.query<StandingRow>(standingOf(`(${subject})`), params));
}

function toStanding([row]: readonly StandingRow[]): Standing | undefined {
  if (row === undefined || (row.wanted_org_uuid !== null && row.org_uuid === null)) return undefined;
  const org =
    row.org_uuid === null
      ? null
      : {
          uuid: row.org_uuid,
          name: row.org_name,
          sandbox: row.sandbox,
          ssoRequired: row.sso_required,
          features: row.features,
          role: row.role,
          roleId: row.role_id,
          isOwner: row.is_owner,
          membershipVersion: row.membership_version,
        };
  return {
    userUuid: row.uuid,
    id: row.id,
    email: row.email,
    credentialsVersion: row.credentials_version,
    isPlatformAdmin: row.is_platform_admin,
    org,
  };
}
