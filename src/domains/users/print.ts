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
    jitDomains: org.jitDomains,
    sandbox: org.sandbox,
    createdAt: timestampFromDate(org.createdAt),
    ssoRequired: org.ssoRequired,
  };
}

/** An organization in the list of one of its members. */
export function printMembership(row: MembershipRow) {
  return {
    orgUuid: row.orgUuid,
    name: row.name,
    role: row.role,
    roleId: row.roleId,
    isOwner: row.isOwner,
    status: row.status,
    createdAt: timestampFromDate(row.createdAt),
  };
}

/** A member of an organization. */
export function printMember(row: MemberRow) {
  return {
    userUuid: row.userUuid,
    id: row.id,
    email: row.email,
    firstName: row.firstName,
    role: row.role,
    roleId: row.roleId,
    isOwner: row.isOwner,
    status: row.status,
    createdAt: timestampFromDate(row.createdAt),
    mfaActive: row.mfaActive,
    ...(row.lastSeenAt === null ? {} : { lastSeenAt: timestampFromDate(row.lastSeenAt) }),
  };
}

/** A person's own profile. */
export function printProfile(person: PersonRow) {
  return {
    id: person.id,
    firstName: person.firstName,
    lastName: person.lastName,
    email: person.email,
    userUuid: person.uuid,
    hasPassword: person.hasPassword,
    ...(person.phone === null ? {} : { phone: person.phone }),
    ...(person.username === null ? {} : { username: person.username }),
  };
}

/** An invitation of an organization. */
export function printInvitation({ uuid, email, roleId, role, status, invitedBy, createdAt, expiresAt }: InvitationRow) {
  return {
    invitationId: uuid,
    email,
    roleId,
    role,
    status,
    ...(invitedBy === null ? {} : { invitedBy }),
    createdAt: timestampFromDate(createdAt),
    expiresAt: timestampFromDate(expiresAt),
  };
}
