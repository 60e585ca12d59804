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
  wantedOrgUuid: string | null;
  uuid: string;
  id: number;
  email: string;
  credentialsVersion: number;
  isPlatformAdmin: boolean;
  orgUuid: string | null;
  orgName: string;
  sandbox: boolean;
  ssoRequired: boolean;
  features: string[];
  role: string;
  roleId: number;
  isOwner: boolean;
  membershipVersion: number;
}

/** The standing of the one row of `subject`, which has the columns `user_uuid` and `org_uuid`. */
const standingOf = (subject: string): string => `
  select p.uuid, p.id, p.email, p.credentials_version as "credentialsVersion",
    p.is_platform_admin as "isPlatformAdmin", s.org_uuid as "wantedOrgUuid", o.uuid as "orgUuid", o.name as "orgName",
    o.sandbox, o.sso_required as "ssoRequired", plans.features, r.name as role, m.role_id as "roleId",
    m.is_owner as "isOwner", m.version as "membershipVersion"
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
  if (row === undefined || (row.wantedOrgUuid !== null && row.orgUuid === null)) return undefined;
  const org =
    row.orgUuid === null
      ? null
      : {
          uuid: row.orgUuid,
          name: row.orgName,
          sandbox: row.sandbox,
          ssoRequired: row.ssoRequired,
          features: row.features,
          role: row.role,
          roleId: row.roleId,
          isOwner: row.isOwner,
          membershipVersion: row.membershipVersion,
        };
  return {
    userUuid: row.uuid,
    id: row.id,
    email: row.email,
    credentialsVersion: row.credentialsVersion,
    isPlatformAdmin: row.isPlatformAdmin,
    org,
  };
}
