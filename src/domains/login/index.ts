export { loginDomain } from "./domain.ts";
export type { LoginConfig, LoginDeps } from "./deps.ts";
export { encodeInviteRegistration, FLATBUFFERS } from "./invitation-response.ts";
export { createLogin } from "./login.ts";
export type { Login } from "./login.ts";
export { loginRpc } from "./rpc.ts";
