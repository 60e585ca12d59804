import { dateOf } from "../../platform/clock.ts";
import { createAcceptInvite } from "./accept-invite.ts";
import { createBootstrap } from "./bootstrap.ts";
import type { SigninDeps } from "./deps.ts";
import { createFounding } from "./founding.ts";
import { createInvitations } from "./invitations.ts";
import { forgetCodes } from "./code-store.ts";
import { createMagicLink } from "./magic-link.ts";
import { createOtp } from "./otp.ts";
import { createPasswordChange } from "./password-change.ts";
import { createPasswordLogin } from "./password.ts";
import { createSignUp } from "./sign-up.ts";
import { forgetMailTokens } from "./store.ts";

export type { SigninConfig, SigninDeps } from "./deps.ts";
export { encodeInviteRegistration, FLATBUFFERS } from "./invite-registration.ts";
export { ACCEPT_INVITATION } from "./accept-invite.ts";
export { inviteLoginRpc, invitationsRpc } from "./invitation-rpc.ts";
export { passwordRpc, signinLoginRpc, signUpDemands, signUpRpc } from "./rpc.ts";

/** The doors: password, one-time code, magic link, sign-up, invitation, and the first start. */
export function createSignin(deps: SigninDeps) {
  const founding = createFounding(deps);
  const invitations = createInvitations(deps);
  return {
    password: createPasswordLogin(deps),
    passwordChange: createPasswordChange(deps),
    magicLink: createMagicLink(deps),
    otp: createOtp(deps),
    signUp: createSignUp(deps, founding),
    invitations,
    invite: createAcceptInvite(deps, invitations),
    ...createBootstrap(deps, founding),
    /** Forgets some of the mailed tokens and codes that expired more than a day ago; answers how many. Safe on every instance. */
    async tidy(): Promise<number> {
      const before = dateOf(deps.clock, -86_400_000);
      return (await forgetMailTokens(deps.database, before)) + (await forgetCodes(deps.database, before));
    },
  };
}

/** The doors as the server sees them. */
export type Signin = ReturnType<typeof createSignin>;
