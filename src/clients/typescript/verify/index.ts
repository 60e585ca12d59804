export type { Caller, Claims } from "./caller.ts";
export { callerKey, guard } from "./guard.ts";
export type { Guard, Requirements } from "./guard.ts";
export { TokenRefusal } from "./refusal.ts";
export type { RefusalCode } from "./refusal.ts";
export { createVerifier } from "./verifier.ts";
export type { Verifier, VerifierOptions } from "./verifier.ts";
