export { signingKeysDomain } from "./domain.ts";
export { createSigningKeys } from "./signing-keys.ts";
export type { Keys } from "./signing-keys.ts";
