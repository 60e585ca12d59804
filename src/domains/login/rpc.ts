import type { ServiceImpl } from "@connectrpc/connect";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { caller, callerKey, requestInfo } from "../../platform/caller.ts";
import type { Precondition } from "../../platform/rpc.ts";
import type { Login } from "./index.ts";

/** The doors over the wire. */
export function loginRpc({
  password,
  passwordChange,
  otp,
  magicLink,
  signUp,
  disown,
}: Login): Partial<ServiceImpl<typeof LoginService>> {
  return {
    login: async (request, context) => password.login(request, requestInfo(context)),
    sendOtp: async (request, context) => ({
      message: `The email was sent; the code in it is good for ${(await otp.send(request, requestInfo(context))).minutes} minutes.`,
    }),
    verifyOtp: async (request, context) => otp.verify(request, requestInfo(context)),
    forgotPassword: async ({ email }, context) => {
      await passwordChange.forgot(email, requestInfo(context));
      return {};
    },
    resetPassword: async ({ token, password: wanted }, context) => {
      await passwordChange.reset(token, wanted, requestInfo(context));
      return {};
    },
    sendMagicLink: async (request, context) => ({
      sent: true,
      ...(await magicLink.send(request, requestInfo(context))),
    }),
    verifyMagicLink: async ({ token }, context) => magicLink.verify(token, requestInfo(context)),
    confirmEmail: async ({ token }, context) => {
      await signUp.confirmEmail(token, requestInfo(context));
      return {};
    },
    disownEmail: async ({ token }, context) => {
      await disown(token, requestInfo(context));
      return {};
    },
  };
}

/** Sign-up: what of the users area is a door. */
export function signUpRpc({ signUp }: Login): Partial<ServiceImpl<typeof UsersService>> {
  return {
    createOrganization: async (request, context) => {
      const { org, ...opened } = await signUp.signUp(context.values.get(callerKey), request, requestInfo(context));
      return { ...opened, orgUuid: org.uuid, name: org.name };
    },
  };
}

/** Preconditions on the caller of a sign-up. */
export function signUpPreconditions({ signUp }: Login): { createOrganization: Precondition } {
  return { createOrganization: signUp.demandOpen };
}

/** Passwords: what of the users area a door ends with. */
export function passwordRpc({ passwordChange }: Login): Partial<ServiceImpl<typeof UsersService>> {
  return {
    changePassword: async ({ currentPassword, newPassword }, context) => {
      await passwordChange.change(caller(context), currentPassword, newPassword, requestInfo(context));
      return {};
    },
  };
}
