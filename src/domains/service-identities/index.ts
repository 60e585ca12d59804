export { serviceIdentitiesDomain } from "./domain.ts";
export { identityErrors } from "./errors.ts";
export type { IdentityRow, KeptIdentity } from "./identity-store.ts";
export { printSvid } from "./rpc.ts";
export { createServiceIdentities } from "./service-identities.ts";
export type { ServiceIdentities } from "./service-identities.ts";
export type { RevokedSvid, SvidFilter, SvidRow } from "./svid-store.ts";
