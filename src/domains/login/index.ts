export { loginDomain } from "./domain.ts";
export { encodeInviteRegistration, FLATBUFFERS } from "./invitation-response.ts";
export { createLogin } from "./login.ts";
export type { Login } from "./login.ts";
