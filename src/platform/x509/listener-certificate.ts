import type { Clock } from "../clock.ts";
import { dateOf } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Sealer } from "../crypto/sealed.ts";
import { sealedColumn } from "../crypto/sealed-column.ts";
import type { Database, Tx } from "../db/types.ts";
import type { Random } from "../random.ts";
import { toPem } from "./pem.ts";
import { createServerCertificate } from "./server-certificate.ts";
import { wholeSeconds } from "./validity.ts";

/** Lifetime, and the rest of it at which a start creates the next one. */
const LIFETIME_MS = 10 * 365 * 86_400_000;
const RENEW_BEFORE_MS = 90 * 86_400_000;
/** Clients whose clocks are behind accept a new certificate. */
const BACKDATED_MS = 300_000;

/** Private keys of the listener's certificates. */
export const SEALED_LISTENER_KEYS = sealedColumn({
  table: "listener_certificates",
  column: "private_key",
  key: { host: "text" },
  context: ({ host }) => contextOf(String(host)),
});

/** Dependencies of {@link createListenerCertificate}. */
export interface ListenerCertificateDeps {
  database: Pick<Database, "transaction">;
  clock: Clock;
  random: Pick<Random, "bytes">;
  sealer: Sealer;
}

interface Row {
  certificate: Buffer;
  privateKey: Buffer;
}

/** Returns the certificate of the listener of mutual TLS: the operator's, else one that the instances share. */
export function createListenerCertificate(
  config: Pick<Config, "tls" | "baseUrl">,
  deps: ListenerCertificateDeps,
): () => Promise<{ cert: string; key: string }> {
  let loaded: Promise<{ cert: string; key: string }> | undefined;
  const host = new URL(config.baseUrl).hostname.replace(/^\[|\]$/gu, "");
  return () => {
    if (config.tls !== undefined) return Promise.resolve(config.tls);
    loaded ??= loadListenerCertificate(deps, host);
    return loaded;
  };
}

/**
 * The certificate of the listener of mutual TLS where the operator has set none: for the host of the base URL and for
 * this machine's own names. It is stored, so that every instance presents the same one, over restarts too.
 */
async function loadListenerCertificate(
  { database, clock, random, sealer }: ListenerCertificateDeps,
  host: string,
): Promise<{ cert: string; key: string }> {
  const context = contextOf(host);
  const read = (tx: Tx): Promise<Row | undefined> => certificateOf(tx, host, dateOf(clock, RENEW_BEFORE_MS));
  const row =
    (await database.transaction(read)) ??
    (await database.transaction(async (tx) => {
      const notBefore = wholeSeconds(clock.now() - BACKDATED_MS);
      const notAfter = wholeSeconds(clock.now() + LIFETIME_MS);
      const hosts = [...new Set([host, "localhost", "127.0.0.1", "::1"])];
      const made = await createServerCertificate(random, { hosts, notBefore, notAfter });
      const privateKey = sealer.seal(made.privateKey, context);
      made.privateKey.fill(0);
      const replaces = dateOf(clock, RENEW_BEFORE_MS);
      await storeCertificate(
        tx,
        host,
        { certificate: made.certificate, privateKey },
        dateOf(clock),
        notAfter,
        replaces,
      );
      // Another instance may have been first.
      return read(tx);
    }));
  if (row === undefined) throw new Error("the certificate of the listener was not stored");
  const der = sealer.open(row.privateKey, context);
  const key = toPem(der, "PRIVATE KEY");
  der.fill(0);
  return { cert: toPem(row.certificate, "CERTIFICATE"), key };
}

async function certificateOf(tx: Tx, host: string, validAt: Date): Promise<Row | undefined> {
  const sql = `select certificate, private_key as "privateKey" from listener_certificates
    where host = $1 and expires_at > $2`;
  return (await tx.query<Row & Record<string, unknown>>(sql, [host, validAt]))[0];
}

/** Stores a certificate unless one is there that is valid beyond `replaces`. */
async function storeCertificate(
  tx: Tx,
  host: string,
  { certificate, privateKey }: Row,
  at: Date,
  expiresAt: Date,
  replaces: Date,
): Promise<void> {
  await tx.query(
    `insert into listener_certificates as stored (host, certificate, private_key, created_at, expires_at)
     values ($1, $2, $3, $4, $5)
     on conflict (host) do update set certificate = excluded.certificate, private_key = excluded.private_key,
       created_at = excluded.created_at, expires_at = excluded.expires_at
     where stored.expires_at <= $6`,
    [host, certificate, privateKey, at, expiresAt, replaces],
  );
}

const contextOf = (host: string): string => `listener-certificate:${host}`;
