export { vaultDomain } from "./domain.ts";
export type { Vault } from "./vault.ts";
