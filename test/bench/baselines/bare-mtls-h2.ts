/**
 * A bare `node:http2` server that asks clients for a certificate, with its own in CERT and KEY. It answers each request
 * with BYTES bytes.
 */
import { createSecureServer } from "node:http2";
import { serve } from "./serve.ts";

const body = Buffer.alloc(Number(process.env["BYTES"]));
const server = createSecureServer({
  cert: process.env["CERT"],
  key: process.env["KEY"],
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: "TLSv1.3",
});
server.on("stream", (stream) => {
  stream.respond({ ":status": 200 });
  stream.end(body);
});
server.on("session", (session) => session.on("error", () => undefined));
serve(server);
