import { toJson } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { ListValueSchema } from "@bufbuild/protobuf/wkt";
import { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf, pageOfAll } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Invitations } from "../invitations/index.ts";
import type { Login } from "../login/index.ts";
import type { MemberRow } from "../rbac/index.ts";
import { printInvitation, printMember, printMembership, printOrganization, printProfile } from "./print.ts";
import type { Orders } from "../../platform/db/paging.ts";
import type { MembershipRow } from "./organization-store.ts";
import type { Users } from "./users.ts";

/** A picture is an image and nothing else, for the caller alone, and revalidated each time it is used. */
const PICTURE_HEADERS = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
  "cache-control": "private, no-cache",
};

/** The domains that `UsersService` is implemented with. */
export interface UsersServiceDeps {
  users: Users;
  invitations: Pick<Invitations, "create" | "list" | "withdraw">;
  login: Pick<Login, "signUp" | "passwordChange">;
}

const ORDERS: Orders<MembershipRow> = {
  name: ({ name }) => name.toLowerCase(),
  created_at: ({ createdAt: at }) => at.getTime(),
};

/** Implements `atrium.users.v1.UsersService`. */
export function usersRpc(
  { users: { profiles, pictures, members, organizations }, invitations, login }: UsersServiceDeps,
  contexts: RequestContexts,
): ServiceRegistration {
  const implementation: ServiceImpl<typeof UsersService> = {
    getProfile: async (_request, call) => printProfile(await profiles.find(contexts.authenticated(call))),
    updateProfile: async ({ firstName, phone }, call) => {
      await profiles.update(contexts.authenticated(call), { firstName, phone });
      return { status: "ok" };
    },
    getPicture: async ({ userUuid }, call) => {
      const { contentType, etag, image } = await pictures.find(contexts.authenticated(call), userUuid);
      for (const [name, value] of Object.entries({ etag, ...PICTURE_HEADERS })) call.responseHeader.set(name, value);
      return { contentType, data: image };
    },
    setPicture: async ({ body }, call) => pictures.set(contexts.authenticated(call), Buffer.from(body?.data ?? [])),
    changePassword: async ({ currentPassword, newPassword }, call) => {
      await login.passwordChange.change(contexts.authenticated(call), currentPassword, newPassword);
      return {};
    },

    listUsers: async (request, call) => {
      const page = pageOf(request);
      const { data, ...rest } = await members.list(contexts.authenticated(call), request, page);
      return { data: data.map(printMember), ...rest, ...page };
    },
    setUserRole: async ({ userUuid, role }, call) => {
      await members.setRole(contexts.authenticated(call), userUuid, role);
      return { status: "ok" };
    },
    updateUser: async ({ userUuid, status, isOwner }, call) => {
      const wish = { status: status as MemberRow["status"] | undefined, isOwner };
      return printMember(await members.update(contexts.authenticated(call), userUuid, wish));
    },
    deleteUser: async ({ userUuid }, call) => {
      await members.remove(contexts.authenticated(call), userUuid);
      return {};
    },

    createInvitation: async (request, call) =>
      printInvitation(await invitations.create(contexts.authenticated(call), request)),
    listInvitations: async (request, call) => {
      const page = pageOf(request);
      const { data, ...total } = await invitations.list(contexts.authenticated(call), page);
      return { data: data.map(printInvitation), ...total, ...page };
    },
    deleteInvitation: async ({ invitationId }, call) => {
      await invitations.withdraw(contexts.authenticated(call), invitationId);
      return {};
    },

    createOrganization: async (request, call) => {
      const { org, ...opened } = await login.signUp.signUp(contexts.public(call), request);
      return { ...opened, orgUuid: org.uuid, name: org.name };
    },
    listOrganizations: async (request, call) => {
      const all = await organizations.list(contexts.authenticated(call));
      const { data, ...page } = pageOfAll(all, pageOf(request), ({ name }) => name, ORDERS);
      return { data: data.map(printMembership), ...page };
    },
    getOrganization: async (_request, call) =>
      printOrganization(await organizations.find(contexts.authenticated(call))),
    updateOrganization: async ({ orgUuid, name, plan, ssoRequired, jitDomains }, call) => {
      const wish = { name, plan, ssoRequired, jitDomains: jitDomains && toJson(ListValueSchema, jitDomains) };
      return printOrganization(await organizations.update(contexts.authenticated(call), orgUuid.toLowerCase(), wish));
    },
    deleteOrganization: async (_request, call) => {
      await organizations.remove(contexts.authenticated(call));
      return {};
    },
  };
  return registration(UsersService, implementation, { createOrganization: login.signUp.demandAllowed });
}
