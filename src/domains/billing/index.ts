export type { Billing } from "./billing.ts";
export { billingDomain } from "./domain.ts";
