import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { sessionTokenKey } from "../../platform/caller.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Invitations } from "../invitations/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import type { OwnSession, Sessions } from "../sessions/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import type { Accepted } from "./accept-invitation.ts";
import type { Login } from "./login.ts";

/** The domains that `LoginService` is implemented with. */
export interface LoginServiceDeps {
  login: Login;
  sessions: Pick<Sessions, "own" | "refresh">;
  people: Pick<People, "superuser">;
  organizations: Pick<Organizations, "isNameAvailable">;
  keys: Pick<Keys, "jwks">;
  invitations: Pick<Invitations, "show">;
}

/** `atrium.login.v1.LoginService`. */
export function loginRpc(
  { login, sessions, people, organizations, keys, invitations }: LoginServiceDeps,
  contexts: RequestContexts,
): ServiceRegistration {
  const { password, passwordChange, otp, magicLink, signUp } = login;
  return registration(LoginService, {
    login: async (request, context) => password.login(contexts.public(context), request),
    sendOtp: async (request, context) => {
      const { minutes } = await otp.send(contexts.public(context), request);
      return { message: `The email was sent; the code in it is good for ${minutes} minutes.` };
    },
    verifyOtp: async (request, context) => otp.verify(contexts.public(context), request),
    sendMagicLink: async (request, context) => ({
      sent: true,
      ...(await magicLink.send(contexts.public(context), request)),
    }),
    verifyMagicLink: async ({ token }, context) => {
      const signedIn = await magicLink.verify(contexts.public(context), token);
      if ("refreshToken" in signedIn) context.values.set(sessionTokenKey, signedIn.refreshToken);
      return signedIn;
    },
    forgotPassword: async ({ email }, context) => {
      await passwordChange.forgot(contexts.public(context), email);
      return {};
    },
    resetPassword: async ({ token, password: wanted }, context) => {
      await passwordChange.reset(contexts.public(context), token, wanted);
      return {};
    },
    confirmEmail: async ({ token }, context) => {
      await signUp.confirmEmail(contexts.public(context), token);
      return {};
    },
    disownEmail: async ({ token }, context) => {
      await login.disown(contexts.public(context), token);
      return {};
    },
    getInvite: async ({ token }) => {
      const { email, orgUuid, orgName, role, expiresAt } = await invitations.show(token);
      return { email, orgUuid, orgName, role, expiresAt: timestampFromDate(expiresAt) };
    },
    acceptInvite: async (request, context) => ({
      data: printAcceptance(await login.acceptInvitation(contexts.public(context), request), context),
    }),
    refresh: async ({ refreshToken }, context) => sessions.refresh(contexts.public(context), refreshToken),
    logout: async (_request, context) => {
      await sessions.own.logout(contexts.authenticated(context));
      return {};
    },
    listOwnSessions: async (request, context) => {
      const page = pageOf(request);
      const { data, ...total } = await sessions.own.list(contexts.authenticated(context), page);
      return { data: data.map(printSession), ...total, ...page };
    },
    getSignInOptions: async ({ orgName }) => login.signInOptions(orgName ?? ""),
    getSuperuser: async ({ email }) => ({ data: await people.superuser(email) }),
    checkOrganizationName: async ({ name }) => ({
      data: { name, available: await organizations.isNameAvailable(name) },
    }),
    getInstanceJwks: async (_request, context) => {
      const { keys: set, headers } = await keys.jwks.ofInstance();
      for (const [name, value] of Object.entries(headers)) context.responseHeader.set(name, value);
      return { keys: set };
    },
  } satisfies ServiceImpl<typeof LoginService>);
}

/** The binary form has memberships alone: the request for the second factor is JSON, whatever `Accept` says. */
function printAcceptance(outcome: Accepted | SecondFactorNeeded, { protocolName, responseHeader }: HandlerContext) {
  if (!("mfaRequired" in outcome)) return { ...outcome, message: "Invitation accepted." };
  if (protocolName === "rest") responseHeader.set("content-type", "application/json");
  return outcome;
}

function printSession({ uuid, deviceUuid, createdAt, lastSeenAt, current, ipAddress, userAgent }: OwnSession) {
  return {
    sessionId: uuid,
    deviceUuid,
    createdAt: timestampFromDate(createdAt),
    lastSeenAt: timestampFromDate(lastSeenAt),
    current,
    ipAddress,
    userAgent,
  };
}
