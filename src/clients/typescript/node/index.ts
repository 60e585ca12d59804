export { createGrpcTransport } from "./grpc-transport.ts";
export { svidTransport } from "./svid-transport.ts";
export type { SvidTransportOptions } from "./svid-transport.ts";
