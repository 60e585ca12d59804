export { accessDomain } from "./domain.ts";
export { createAccess } from "./access.ts";
export type { Access } from "./access.ts";
export { findPersonBehind, personBehind } from "./apps.ts";
export { administers } from "./rules.ts";
export type { Standing } from "./store.ts";
