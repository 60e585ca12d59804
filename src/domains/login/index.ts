import { dateOf } from "../../platform/clock.ts";
import { createAcceptInvite } from "./accept-invite.ts";
import { createBootstrap } from "./bootstrap.ts";
import type { LoginDeps } from "./deps.ts";
import { createDisown } from "./disown.ts";
import { createFounding } from "./founding.ts";
import { forgetInvitations } from "./invitation-store.ts";
import { createInvitations } from "./invitations.ts";
import { forgetCodes } from "./code-store.ts";
import { createMailboxEntry } from "./mailbox-entry.ts";
import { createMagicLink } from "./magic-link.ts";
import { createOtp } from "./otp.ts";
import { createPasswordChange } from "./password-change.ts";
import { createPasswordLogin } from "./password.ts";
import { createRescue } from "./rescue.ts";
import { createSignUp } from "./sign-up.ts";
import { forgetMailTokens } from "./store.ts";

export type { LoginConfig, LoginDeps } from "./deps.ts";
export { encodeInviteRegistration, FLATBUFFERS } from "./invite-registration.ts";
export { ACCEPT_INVITATION } from "./accept-invite.ts";
export { JOIN_BY_MAIL } from "./mailbox-entry.ts";
export { inviteLoginRpc, invitationsRpc } from "./invitation-rpc.ts";
export { passwordRpc, loginRpc, signUpPreconditions, signUpRpc } from "./rpc.ts";

const DAY_MS = 86_400_000;

/** The doors: password, one-time code, magic link, sign-up, invitation, and the first start. */
export function createLogin(deps: LoginDeps) {
  const founding = createFounding(deps);
  const invitations = createInvitations(deps);
  /** Removes mailed tokens and codes that expired over a day ago, and invitations that expired over 30 days ago. */
  async function tidy(): Promise<number> {
    const before = dateOf(deps.clock, -DAY_MS);
    const { background } = deps.database;
    const mailed =
      (await forgetMailTokens(background, before)) +
      (await forgetCodes(background, before)) +
      (await deps.people.mails.deleteExpired(before));
    return mailed + (await forgetInvitations(background, dateOf(deps.clock, -30 * DAY_MS)));
  }
  return {
    password: createPasswordLogin(deps),
    passwordChange: createPasswordChange(deps),
    magicLink: createMagicLink(deps),
    otp: createOtp(deps),
    signUp: createSignUp(deps, founding),
    ...createDisown(deps),
    completeJoining: createMailboxEntry(deps).completeJoining,
    invitations,
    invite: createAcceptInvite(deps, invitations),
    ...createBootstrap(deps, founding),
    rescue: createRescue(deps),
    tidy: { mailedTokens: tidy },
  };
}

/** The doors as the server sees them. */
export type Login = ReturnType<typeof createLogin>;
