export { signingKeysDomain } from "./domain.ts";
export { KEY_OVERLAP } from "./events.ts";
export type { KeyOverlap } from "./events.ts";
export type { KeySet } from "./jwks.ts";
export { signingKeysRpc } from "./rpc.ts";
export { createSigningKeys } from "./signing-keys.ts";
export type { Keys, KeysDeps } from "./signing-keys.ts";
