export { serviceIdentitiesDomain } from "./domain.ts";
export { identityErrors } from "./errors.ts";
export { printSvid } from "./rpc.ts";
export { createServiceIdentities } from "./service-identities.ts";
export type { ServiceIdentities } from "./service-identities.ts";
export type { SvidFilter, SvidRow } from "./svid-store.ts";
