export { mtlsCaDomain } from "./domain.ts";
export { createMtlsCa } from "./mtls-ca.ts";
export type { MtlsCa } from "./mtls-ca.ts";
