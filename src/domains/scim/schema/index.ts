export type { Attribute, ResourceKind, Schema } from "./attribute.ts";
export { COMMON_ATTRIBUTES } from "./common.ts";
export { GROUP } from "./group.ts";
export { attributeNamed, coreAttribute, extensionOf, resolvePath } from "./paths.ts";
export type { Target } from "./paths.ts";
export { ENTERPRISE, USER } from "./user.ts";
