import { dateOf } from "../../platform/clock.ts";
import { ENTER_BY_OIDC } from "../oidc/index.ts";
import { ACCEPT_INVITATION, createAcceptInvitation } from "./accept-invitation.ts";
import { createBootstrap } from "./bootstrap.ts";
import { deleteExpiredCodes } from "./code-store.ts";
import type { LoginDeps } from "./deps.ts";
import { createDisown } from "./disown.ts";
import { createMagicLink } from "./magic-link.ts";
import { createMailSignIn, JOIN_BY_MAIL } from "./mail-sign-in.ts";
import { createNewOrganization } from "./new-organization.ts";
import { createOperatorReset } from "./operator-reset.ts";
import { createOtp } from "./otp.ts";
import { createPasswordChange } from "./password-change.ts";
import { createPasswordLogin } from "./password.ts";
import { createSecondFactorLogin } from "./second-factor.ts";
import { createSignInOptions } from "./sign-in-options.ts";
import { createSignUp } from "./sign-up.ts";
import { deleteExpiredMailTokens } from "./store.ts";

const DAY_MS = 86_400_000;

/** Sign-in by password, one-time code and magic link, sign-up, accepted invitations, and the first start. */
export function createLogin(deps: LoginDeps) {
  const newOrganization = createNewOrganization(deps);
  const mailSignIn = createMailSignIn(deps);
  const acceptInvitation = createAcceptInvitation(deps);

  /** Deletes mailed tokens and codes that expired over a day ago. */
  async function tidy(): Promise<number> {
    const before = dateOf(deps.clock, -DAY_MS);
    const { background } = deps.database;
    return (
      (await deleteExpiredMailTokens(background, before)) +
      (await deleteExpiredCodes(background, before)) +
      (await deps.people.mails.deleteExpired(before))
    );
  }

  return {
    password: createPasswordLogin(deps),
    passwordChange: createPasswordChange(deps),
    magicLink: createMagicLink(deps, mailSignIn),
    otp: createOtp(deps, mailSignIn),
    signUp: createSignUp(deps, newOrganization),
    disown: createDisown(deps),
    signInOptions: createSignInOptions(deps),
    acceptInvitation: acceptInvitation.accept,
    /** Completes a sign-in by a second factor. */
    completeSignIn: createSecondFactorLogin(deps, {
      [ACCEPT_INVITATION]: {
        resume: acceptInvitation.acceptAfterSecondFactor,
        inherited: acceptInvitation.inheritedAfterSecondFactor,
      },
      [JOIN_BY_MAIL]: { resume: mailSignIn.joinAfterSecondFactor },
      [ENTER_BY_OIDC]: deps.oidc.secondFactor,
    }),
    ...createBootstrap(deps, newOrganization),
    /** Password reset by the operator. */
    createResetLink: createOperatorReset(deps),
    tidy: { mailedTokens: tidy },
  };
}

/** Sign-in and sign-up as the server sees them. */
export type Login = ReturnType<typeof createLogin>;
