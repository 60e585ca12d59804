/** What the client uses of Connect; `npm run pack:clients` puts the code itself here. */
export { Code, ConnectError, createClient, createContextKey, createContextValues } from "@connectrpc/connect";
export type {
  CallOptions,
  Client,
  ContextKey,
  ContextValues,
  Interceptor,
  StreamRequest,
  StreamResponse,
  Transport,
  UnaryRequest,
  UnaryResponse,
} from "@connectrpc/connect";
