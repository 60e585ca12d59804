export { mfaDomain } from "./domain.ts";
export type { Attempt } from "./budget.ts";
export type { SecondStep, VerifiedSignIn } from "./challenge.ts";
export { mfaErrors } from "./errors.ts";
export { createMfa } from "./mfa.ts";
export type { Mfa } from "./mfa.ts";
export type { SecondFactorNeeded } from "./pending-sign-in.ts";
export { mfaRpc } from "./rpc.ts";
export { personOf } from "./rules.ts";
