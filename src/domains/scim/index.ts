export { scimDomain } from "./domain.ts";
