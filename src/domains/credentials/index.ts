export { credentialsDomain } from "./domain.ts";
export { createCredentials } from "./credentials.ts";
export type { Credentials, CredentialsDeps } from "./credentials.ts";
export { credentialsRpc } from "./rpc.ts";
export { newSecret, readSecret } from "./secret.ts";
