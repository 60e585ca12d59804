/** What `@atrium/client/node` uses of the protocols of Connect; `npm run pack:clients` puts the code itself here. */
export { createMethodSerializationLookup } from "@connectrpc/connect/protocol";
export type { Serialization } from "@connectrpc/connect/protocol";
export { validateResponseWithCompression, validateTrailer } from "@connectrpc/connect/protocol-grpc";
