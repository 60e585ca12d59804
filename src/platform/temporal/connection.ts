import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from "@temporalio/client";
import type { ConnectionOptions } from "@temporalio/client";

type Interceptor = NonNullable<ConnectionOptions["interceptors"]>[number];

/** gRPC's CANCELLED, which is not retried. */
const CANCELLED = 1;

/**
 * Cancels an attempt that begins after the connection was closed. The retry interceptor makes attempts in timers, where
 * what a closed channel throws would end the process.
 */
const cancelWhenClosed: Interceptor = (options, nextCall) => {
  try {
    return nextCall(options) as ReturnType<Interceptor>;
  } catch (error) {
    const nothing = (): void => undefined;
    const cancelled: Pick<ReturnType<Interceptor>, "start" | "sendMessage" | "halfClose" | "cancelWithStatus"> = {
      start(metadata, listener) {
        listener?.onReceiveStatus?.({ code: CANCELLED, details: (error as Error).message, metadata });
      },
      sendMessage: nothing,
      halfClose: nothing,
      cancelWithStatus: nothing,
    };
    return cancelled as ReturnType<Interceptor>;
  }
};

/** Address of a Temporal server and how to connect to it. */
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
  /** Root certificates for verifying the server's certificate. */
  ca?: string | undefined;
  /** Client certificate and its key, for mTLS. */
  cert?: string | undefined;
  key?: string | undefined;
  /** Name to verify in the server's certificate, if it differs from the address. */
  serverName?: string | undefined;
}

/** Returns the TLS options of the SDK; the native connection of the worker accepts the same ones. */
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
 * Creates a connection that is opened by the first call, and reopened after a loss within 2 s of the server's return.
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
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 3 })), cancelWhenClosed],
  });
}
