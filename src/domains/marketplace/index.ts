export { marketplaceDomain } from "./domain.ts";
export { INSTALL_ENDED } from "./installs/events.ts";
export type { EndedInstall } from "./installs/events.ts";
export { stuckInstalls } from "./installs/pending-store.ts";
export type { Marketplace } from "./marketplace.ts";
