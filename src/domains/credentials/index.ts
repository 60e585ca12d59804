export { credentialsDomain } from "./domain.ts";
export { createCredentials } from "./credentials.ts";
export type { Credentials } from "./credentials.ts";
export { createOpaqueAuthenticator, NOT_A_PERSON } from "./opaque.ts";
export { newSecret } from "./secret.ts";
export { lockCredentials } from "./store.ts";
export { createUseRecorder } from "./uses.ts";
