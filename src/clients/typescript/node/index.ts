export { createGrpcTransport } from "@connectrpc/connect-node";
export { svidTransport } from "./svid-transport.ts";
export type { SvidTransportOptions } from "./svid-transport.ts";
