import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from "@temporalio/client";

/** Where a Temporal server is and how to speak to it. */
export interface TemporalTarget {
  /** `host:port`. */
  address: string;
  namespace: string;
  /** TLS: with the system's roots, or with the PEM texts given. Default: off, on when there is an API key. */
  tls?: boolean | TemporalTls | undefined;
  /** Sent as a bearer token. */
  apiKey?: string | undefined;
}

/** PEM texts and names for TLS. */
export interface TemporalTls {
  /** Roots that the server's certificate is checked against. */
  ca?: string | undefined;
  /** Our certificate and its key, for mTLS. */
  cert?: string | undefined;
  key?: string | undefined;
  /** Name the server's certificate is checked for, when it is not the address. */
  serverName?: string | undefined;
}

/** TLS options in the words of the SDK; the native connection of the worker takes the same. */
export function tlsOptions({ tls, apiKey }: Pick<TemporalTarget, "tls" | "apiKey">) {
  if (tls === undefined || typeof tls === "boolean") return tls ?? apiKey !== undefined;
  return {
    ...(tls.serverName === undefined ? {} : { serverNameOverride: tls.serverName }),
    ...(tls.ca === undefined ? {} : { serverRootCACertificate: Buffer.from(tls.ca) }),
    ...(tls.cert === undefined || tls.key === undefined
      ? {}
      : { clientCertPair: { crt: Buffer.from(tls.cert), key: Buffer.from(tls.key) } }),
  };
}

/**
 * A connection that is made with the first call and made again, within 2 s of the server's return, when it was lost.
 */
export function lazyConnection(target: TemporalTarget): Connection {
  return Connection.lazy({
    address: target.address,
    tls: tlsOptions(target),
    ...(target.apiKey === undefined ? {} : { apiKey: target.apiKey }),
    channelArgs: {
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.min_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 2000,
    },
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 3 }))],
  });
}
