export type { Authenticators } from "./authenticators.ts";
export { credentialName, takesCredential } from "./credential.ts";
export type { Preconditions } from "./domain-precondition.ts";
export { createGate } from "./gate.ts";
export type { Gate } from "./gate.ts";
export { createStepLists } from "./lists.ts";
export type { StepLists } from "./lists.ts";
