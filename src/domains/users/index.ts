export { usersDomain } from "./domain.ts";
export { usersRpc } from "./rpc.ts";
export { createUsers } from "./users.ts";
export type { Users, UsersDeps } from "./users.ts";
