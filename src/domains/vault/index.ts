export { vaultDomain } from "./domain.ts";
export { usesFormerKey } from "./entered-key.ts";
export type { Vault } from "./vault.ts";
