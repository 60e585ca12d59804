import type { ServiceImpl } from "@connectrpc/connect";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import type { Precondition } from "../../platform/rpc.ts";
import type { Login } from "./login.ts";

/** The rpc of `UsersService` for sign-up. */
export function signUpRpc(
  { signUp }: Login,
  contexts: RequestContexts,
): Pick<ServiceImpl<typeof UsersService>, "createOrganization"> {
  return {
    createOrganization: async (request, context) => {
      const { org, ...opened } = await signUp.signUp(contexts.public(context), request);
      return { ...opened, orgUuid: org.uuid, name: org.name };
    },
  };
}

/** What sign-up requires of its caller. */
export function signUpPreconditions({ signUp }: Login): { createOrganization: Precondition } {
  return { createOrganization: signUp.demandAllowed };
}

/** The rpc of `UsersService` that changes a password. */
export function passwordRpc(
  { passwordChange }: Login,
  contexts: RequestContexts,
): Pick<ServiceImpl<typeof UsersService>, "changePassword"> {
  return {
    changePassword: async ({ currentPassword, newPassword }, context) => {
      await passwordChange.change(contexts.authenticated(context), currentPassword, newPassword);
      return {};
    },
  };
}
