import { constants } from "node:crypto";
import { createServer } from "node:tls";
import type { Server, TLSSocket, TlsOptions } from "node:tls";
import { ClientCertificate } from "./client-certificate.ts";
import type { VerifyCertificate } from "./client-certificate.ts";

/** Options of {@link createMutualTlsServer}. */
export interface MutualTlsOptions {
  cert: string | Buffer;
  key: string | Buffer;
  verify: VerifyCertificate;
}

/**
 * Creates a server that asks clients for a certificate. The handshake proves possession of the private key and nothing
 * else: `ca` is empty, and the certificate is verified against the one root it names, which is in the database. So
 * neither the list of roots is held in memory nor sent to clients.
 */
export function createMutualTlsServer(
  { cert, key }: MutualTlsOptions,
  common: TlsOptions,
  onSocket: (socket: TLSSocket) => void,
): Server {
  return createServer(
    {
      ...common,
      cert,
      key,
      ca: [],
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.3",
      // A resumed session would skip the client's proof. Without this, tickets hold sessions that any instance resumes.
      secureOptions: constants.SSL_OP_NO_TICKET,
    },
    onSocket,
  );
}

/** The certificate that the client of a connection presented; undefined without one. */
export function presentedBy(socket: TLSSocket, verify: VerifyCertificate): ClientCertificate | undefined {
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? undefined : new ClientCertificate(certificate, verify);
}
