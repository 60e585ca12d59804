import { createBootstrap } from "./bootstrap.ts";
import type { SigninDeps } from "./deps.ts";
import { createFounding } from "./founding.ts";
import { createMagicLink } from "./magic-link.ts";
import { createPasswordLogin } from "./password.ts";
import { createSignUp } from "./sign-up.ts";

export type { SigninConfig, SigninDeps } from "./deps.ts";
export { encodeInviteRegistration, FLATBUFFERS } from "./invite-registration.ts";
export { signinLoginRpc, signUpRpc } from "./rpc.ts";

/** The doors: password, magic link, sign-up, and the first start. */
export function createSignin(deps: SigninDeps) {
  const founding = createFounding(deps);
  return {
    password: createPasswordLogin(deps),
    magicLink: createMagicLink(deps),
    signUp: createSignUp(deps, founding),
    ...createBootstrap(deps, founding),
  };
}

/** The doors as the server sees them. */
export type Signin = ReturnType<typeof createSignin>;
