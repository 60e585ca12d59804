export { billingDomain } from "./domain.ts";
