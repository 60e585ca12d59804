import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { createSignInAttempts } from "../../platform/limits/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { mfaRpc } from "../mfa/index.ts";
import type { Mfa } from "../mfa/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import type { LoginDeps } from "./deps.ts";
import { createLogin } from "./login.ts";
import { loginRpc } from "./rpc.ts";
import type { LoginServiceDeps } from "./rpc.ts";
import { SEALED } from "./sealed.ts";

type Below = Omit<LoginDeps, "events" | "keys" | "signInAttempts" | "config"> &
  Omit<LoginServiceDeps, "login" | "keys">;

/** Sign-in and sign-up, and the sign-ins that a second factor completes. */
export const loginDomain = defineDomain(
  "login",
  ({
    eventCatalogue: events,
    signingKeys: keys,
    config: { baseUrl, openSignup, magicLinkDevEcho, ttl, rateLimits },
    contexts,
    limiter,
    ...below
  }: Ground & Below & { eventCatalogue: Events; signingKeys: Keys; mfa: Mfa }) => {
    const { signedInFrom } = below.sessions;
    const login = createLogin({
      ...below,
      events,
      keys,
      signInAttempts: rateLimits ? createSignInAttempts({ ...limiter, signedInFrom }) : undefined,
      config: {
        baseUrl,
        openSignup,
        magicLinkDevEcho,
        accessMs: ttl.accessMs,
        magicLinkMs: ttl.magicLinkMs,
        magicAccessMs: ttl.magicAccessMs,
        otpMs: ttl.otpMs,
        passwordResetMs: ttl.passwordResetMs,
      },
    });
    return {
      ...login,
      // Its last rpc completes a sign-in, which is above the second factors.
      services: [loginRpc({ ...below, keys, login }, contexts), mfaRpc(below.mfa, contexts, login.completeSignIn)],
    };
  },
  { sealed: SEALED },
);
