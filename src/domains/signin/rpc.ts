import type { ServiceImpl } from "@connectrpc/connect";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { callerKey, requestInfo } from "../../platform/caller.ts";
import type { Signin } from "./index.ts";

/** The doors over the wire. */
export function signinLoginRpc({ password, magicLink, signUp }: Signin): Partial<ServiceImpl<typeof LoginService>> {
  return {
    login: async (request, context) => password.login(request, requestInfo(context)),
    sendMagicLink: async (request) => ({ sent: true, ...(await magicLink.send(request)) }),
    verifyMagicLink: async ({ token }, context) => magicLink.verify(token, requestInfo(context)),
    confirmEmail: async ({ token }) => {
      await signUp.confirmEmail(token);
      return {};
    },
  };
}

/** Sign-up: what of the users area is a door. */
export function signUpRpc({ signUp }: Signin): Partial<ServiceImpl<typeof UsersService>> {
  return {
    createOrganization: async (request, context) => {
      const { org, ...opened } = await signUp.signUp(context.values.get(callerKey), request, requestInfo(context));
      return { ...opened, orgUuid: org.uuid, name: org.name };
    },
  };
}
