export { credentialsDomain } from "./domain.ts";
export { createCredentials } from "./credentials.ts";
export type { Credentials, CredentialsDeps } from "./credentials.ts";
export { credentialsRpc } from "./rpc.ts";
export { createOpaqueAuthenticator, NOT_A_PERSON } from "./opaque.ts";
export type { OpaqueAuthenticator } from "./opaque.ts";
export { newSecret } from "./secret.ts";
export { createUseRecorder } from "./uses.ts";
