import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { InvitationRow } from "../invitations/index.ts";
import type { PersonRow } from "../people/index.ts";
import type { MemberRow } from "../rbac/index.ts";
import type { MembershipRow } from "./organization-store.ts";
import type { EntitledOrganization } from "./organizations.ts";

/** An organization as the contract shows it. */
export function printOrganization(org: EntitledOrganization) {
  return {
    orgUuid: org.uuid,
    name: org.name,
    plan: org.plan,
    entitlements: org.entitlements,
    jitDomains: org.jit_domains,
    sandbox: org.sandbox,
    createdAt: timestampFromDate(org.created_at),
    ssoRequired: org.sso_required,
  };
}

/** An organization in the list of one of its members. */
export function printMembership(row: MembershipRow) {
  return {
    orgUuid: row.org_uuid,
    name: row.name,
    role: row.role,
    roleId: row.role_id,
    isOwner: row.is_owner,
    status: row.status,
    createdAt: timestampFromDate(row.created_at),
  };
}

/** A member of an organization. */
export function printMember(row: MemberRow) {
  return {
    userUuid: row.user_uuid,
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    role: row.role,
    roleId: row.role_id,
    isOwner: row.is_owner,
    status: row.status,
    createdAt: timestampFromDate(row.created_at),
  };
}

/** A person's own profile. */
export function printProfile(person: PersonRow) {
  return {
    id: person.id,
    firstName: person.first_name,
    lastName: person.last_name,
    email: person.email,
    userUuid: person.uuid,
    ...(person.phone === null ? {} : { phone: person.phone }),
    ...(person.username === null ? {} : { username: person.username }),
  };
}

/** An invitation of an organization. */
export function printInvitation({
  uuid,
  email,
  role_id,
  role,
  status,
  invited_by,
  created_at,
  expires_at,
}: InvitationRow) {
  return {
    invitationId: uuid,
    email,
    roleId: role_id,
    role,
    status,
    ...(invited_by === null ? {} : { invitedBy: invited_by }),
    createdAt: timestampFromDate(created_at),
    expiresAt: timestampFromDate(expires_at),
  };
}
