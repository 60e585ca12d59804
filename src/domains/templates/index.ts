export { templatesDomain } from "./domain.ts";
