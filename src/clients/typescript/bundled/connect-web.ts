/** The transport over `fetch`; `npm run pack:clients` puts the code itself here. */
export { createConnectTransport } from "@connectrpc/connect-web";
