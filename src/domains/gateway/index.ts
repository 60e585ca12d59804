export { gatewayDomain } from "./domain.ts";
