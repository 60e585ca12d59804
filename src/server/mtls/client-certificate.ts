import type { X509Certificate } from "node:crypto";
import type { SvidName } from "../../platform/caller.ts";
import { ServiceError } from "../../platform/errors.ts";

/**
 * Verifies the certificate of a client, whose private key the handshake has proven.
 * @throws {unauthorized} when it is no SVID that this service issued, or not valid now
 */
export type VerifyCertificate = (certificate: X509Certificate) => Promise<SvidName>;

/** The certificate that the client of one connection presented. */
export class ClientCertificate {
  readonly #verify: VerifyCertificate;
  /** Dropped once the outcome is known: a connection keeps the name only. */
  #certificate: X509Certificate | undefined;
  #outcome: SvidName | ServiceError | undefined;
  #pending: Promise<SvidName> | undefined;

  constructor(certificate: X509Certificate, verify: VerifyCertificate) {
    this.#certificate = certificate;
    this.#verify = verify;
    this.#start().catch(() => undefined);
  }

  /**
   * The SVID that was presented. Whether it has been revoked is another question, which every request asks.
   * @throws {unauthorized} when the certificate was refused
   * @throws {unavailable} when its issuer could not be looked up; the next call tries again
   */
  svid(): SvidName | Promise<SvidName> {
    if (this.#outcome instanceof ServiceError) throw this.#outcome;
    return this.#outcome ?? this.#pending ?? this.#start();
  }

  #start(): Promise<SvidName> {
    this.#pending = this.#run().finally(() => (this.#pending = undefined));
    return this.#pending;
  }

  async #run(): Promise<SvidName> {
    try {
      return this.#settle(await this.#verify(this.#certificate as X509Certificate));
    } catch (reason) {
      if (reason instanceof ServiceError && reason.status === 401) this.#settle(reason);
      throw reason;
    }
  }

  #settle<T extends SvidName | ServiceError>(outcome: T): T {
    this.#outcome = outcome;
    this.#certificate = undefined;
    return outcome;
  }
}

/** Request heads of node that came over a connection with a client certificate. */
interface WithCertificate {
  clientCertificate?: ClientCertificate | undefined;
}

/** Remembers the certificate of the connection that a request came over. */
export function setClientCertificate(request: object, certificate: ClientCertificate | undefined): void {
  if (certificate !== undefined) (request as WithCertificate).clientCertificate = certificate;
}

/** The certificate that the client of a request presented. Headers never name one. */
export function clientCertificateOf(request: object): ClientCertificate | undefined {
  return (request as WithCertificate).clientCertificate;
}
