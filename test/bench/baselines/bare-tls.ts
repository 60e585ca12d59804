/** A bare `node:tls` server that asks clients for a certificate of the CA in CA, with its own in CERT and KEY. */
import { createServer } from "node:tls";
import { serve } from "./serve.ts";

serve(
  createServer(
    {
      cert: process.env["CERT"],
      key: process.env["KEY"],
      ca: process.env["CA"],
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: "TLSv1.3",
      ALPNProtocols: ["http/1.1"],
    },
    (socket) => {
      socket.on("error", () => undefined);
      socket.resume();
    },
  ),
);
