export { createAccess } from "./access.ts";
export type { Access, AccessDeps } from "./access.ts";
export type { AppsOfToken } from "./app-store.ts";
export { personBehind } from "./apps.ts";
export { accessErrors } from "./errors.ts";
export { accessRpc } from "./rpc.ts";
export { administers } from "./rules.ts";
export type { Decision } from "./rules.ts";
export type { OrgStanding, Standing } from "./store.ts";
