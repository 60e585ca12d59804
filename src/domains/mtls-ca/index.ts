export { mtlsCaDomain } from "./domain.ts";
export { createMtlsCa } from "./mtls-ca.ts";
export type { MtlsCa, MtlsCaDeps } from "./mtls-ca.ts";
export type { RevocationListDocument } from "./revocation-lists.ts";
