import { createJwks } from "./jwks.ts";
import type { JwksDeps } from "./jwks.ts";
import { createSigning } from "./signing.ts";
import type { KeysDeps as SigningDeps } from "./signing.ts";

export type { KeySet } from "./jwks.ts";
export { keysLoginRpc, signingKeysRpc } from "./rpc.ts";

/** What signing keys are made of. */
export type KeysDeps = SigningDeps & JwksDeps;

/** Signing keys of organizations and of the instance. */
export function createKeys(deps: KeysDeps) {
  return { signing: createSigning(deps), jwks: createJwks(deps) };
}

/** Signing keys as other domains see them. */
export type Keys = ReturnType<typeof createKeys>;
