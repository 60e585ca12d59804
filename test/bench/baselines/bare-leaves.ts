/**
 * The least that an SVID can cost: a fresh P-256 key and a leaf signed by `@peculiar/x509`, both as PEM, and one
 * insert. Asked `{seconds}`, keeps IN_FLIGHT of them going and reports how many were stored.
 */
import { randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "../../../src/platform/x509/library.ts";

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const inFlight = Number(process.env["IN_FLIGHT"]);
const pool = new pg.Pool({ connectionString: process.env["DATABASE"], min: 10, max: 10 });
await pool.query(`
  drop table if exists bare_leaves;
  create table bare_leaves (
    id uuid primary key, spiffe_id text not null, serial text not null unique, not_before timestamptz not null,
    not_after timestamptz not null)`);
const root = await crypto.subtle.generateKey(ECDSA, false, ["sign", "verify"]);

async function issue(): Promise<void> {
  const keys = await crypto.subtle.generateKey(ECDSA, true, ["sign", "verify"]);
  const [notBefore, serialNumber] = [new Date(), `4a${randomBytes(15).toString("hex")}`];
  const notAfter = new Date(notBefore.getTime() + 3_600_000);
  const uri = `spiffe://bench.test/svc/${randomUUID()}`;
  const leaf = await X509CertificateGenerator.create({
    serialNumber,
    issuer: "CN=Bare root",
    subject: "O=Atrium",
    notBefore,
    notAfter,
    publicKey: keys.publicKey,
    signingKey: root.privateKey,
    signingAlgorithm: ECDSA,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: "url", value: uri }]),
    ],
  });
  leaf.toString("pem");
  Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const text = "insert into bare_leaves values ($1, $2, $3, $4, $5)";
  await pool.query({ name: "leaf", text, values: [randomUUID(), uri, serialNumber, notBefore, notAfter] });
}

async function run(seconds: number): Promise<void> {
  const started = performance.now();
  const end = started + seconds * 1000;
  let completed = 0;
  const worker = async (): Promise<void> => {
    for (; performance.now() < end; completed++) await issue();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  process.send?.({ result: { value: completed / ((performance.now() - started) / 1000) } });
}

process.on("disconnect", () => process.exit(0));
process.on("message", ({ seconds }: { seconds: number }) => void run(seconds));
process.send?.({ ready: {} });
