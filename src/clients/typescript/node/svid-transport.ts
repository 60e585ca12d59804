import { X509Certificate, createPrivateKey } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { Transport } from "../bundled/connect.ts";
import { createGrpcTransport } from "./grpc-transport.ts";

/** Options of {@link svidTransport}; the three files are PEM. */
export interface SvidTransportOptions {
  /** Where the service serves mutual TLS. */
  baseUrl: string;
  /** File of the SVID with its chain. */
  cert: string;
  /** File of its private key. */
  key: string;
  /** File of the certificates by which the service is known. */
  ca: string;
}

/** Files are looked at before a call, at most this often. */
const LOOK_EVERY_MS = 1_000;
const IDLE_MS = 60_000;

/**
 * gRPC over mutual TLS with an X.509-SVID. Its files are watched: when the SVID is renewed, new calls use a new
 * connection, and calls under way end on the old one.
 * @throws Error when the files cannot be read or do not belong together
 */
export function svidTransport(options: SvidTransportOptions): Transport {
  const files = [options.cert, options.key, options.ca];
  let stamp = stampOf(files);
  let transport = open(options);
  let lookedAtMs = Date.now();

  function present(): Transport {
    const nowMs = Date.now();
    if (nowMs - lookedAtMs < LOOK_EVERY_MS) return transport;
    lookedAtMs = nowMs;
    try {
      const found = stampOf(files);
      if (found !== stamp) [transport, stamp] = [open(options), found];
    } catch {
      // The files are being replaced, one after the other: the next look finds them complete.
    }
    return transport;
  }

  return {
    unary: (...call) => present().unary(...call),
    stream: (...call) => present().stream(...call),
  };
}

function open({ baseUrl, cert, key, ca }: SvidTransportOptions): Transport {
  const [certPem, keyPem, caPem] = [cert, key, ca].map((file) => readFileSync(file, "utf8"));
  if (!new X509Certificate(certPem ?? "").checkPrivateKey(createPrivateKey(keyPem ?? "")))
    throw new Error(`${key} is not the key of ${cert}.`);
  return createGrpcTransport({
    baseUrl,
    idleConnectionTimeoutMs: IDLE_MS,
    nodeOptions: { cert: certPem, key: keyPem, ca: caPem },
  });
}

const stampOf = (files: readonly string[]): string =>
  files
    .map((file) => {
      const { mtimeMs, ino, size } = statSync(file);
      return `${mtimeMs}/${ino}/${size}`;
    })
    .join();
