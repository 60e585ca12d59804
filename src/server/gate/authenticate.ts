import type { Authenticators } from "./authenticators.ts";
import { takesCredential, takesOptionalBearer, verifyCredential, verifyOptionalBearer } from "./credential.ts";
import type { Step } from "./step.ts";

/** Verifies the credential that the rpc takes and sets `call.caller`; 401 without a valid one. */
export function createAuthenticate(authenticators: Authenticators): Step {
  return {
    name: "authenticate",
    applies: takesCredential,
    run: (policy, call) =>
      verifyCredential(authenticators, policy, call).then((caller) => {
        call.caller = caller;
        call.authenticatedAt = performance.now();
      }),
  };
}

/** Sets `call.caller` on a public rpc when the request carries a valid bearer token. */
export function createAuthenticateIfPresent(authenticators: Authenticators): Step {
  return {
    name: "authenticate-if-present",
    applies: takesOptionalBearer,
    run(_policy, call) {
      if (call.header("authorization") === undefined) return undefined;
      return verifyOptionalBearer(authenticators, call).then((caller) => {
        call.caller = caller;
        call.info.invalidBearer = caller === undefined;
        call.authenticatedAt = performance.now();
      });
    },
  };
}
