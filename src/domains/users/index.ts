export { usersDomain } from "./domain.ts";
export { createUsers } from "./users.ts";
