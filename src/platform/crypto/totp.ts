import { generateURI, ScureBase32Plugin, verifySync } from "otplib";
import type { Random } from "../random.ts";

const base32 = new ScureBase32Plugin();
const secretBytes = 20;
const period = 30;

/** Returns a new TOTP secret: 160 bits in base32 (RFC 4648), as RFC 4226 recommends. */
export function generateTotpSecret(random: Pick<Random, "bytes">): string {
  return base32.encode(random.bytes(secretBytes), { padding: false });
}

/** The factor as an authenticator app shows it. */
export interface OtpauthFields {
  /** The product or organization. A colon in it is dropped: it separates issuer and account. */
  issuer: string;
  /** The person's email address. */
  account: string;
  /** base32. */
  secret: string;
  /** The person's name for the factor, shown after the account. */
  label?: string | undefined;
}

/** The `otpauth://totp/…` URI (Key URI format) that authenticator apps read from a QR code. */
export function otpauthUri({ issuer, account, secret, label }: OtpauthFields): string {
  const name = label === undefined || label === "" ? account : `${account} (${label})`;
  return generateURI({
    strategy: "totp",
    issuer: plain(issuer) || "Atrium",
    label: plain(name),
    secret,
    algorithm: "sha1",
    digits: 6,
    period,
  });
}

/**
 * The time step (RFC 6238: seconds since the epoch divided by 30) whose code `code` is, within one step of now,
 * or undefined. The caller must never accept the same step twice.
 */
export function matchTotpStep(secret: string, code: string, nowMs: number): number | undefined {
  if (!/^[0-9]{6}$/.test(code)) return undefined;
  const epoch = Math.floor(nowMs / 1000);
  const found = verifySync({
    strategy: "totp",
    secret,
    token: code,
    epoch,
    period,
    digits: 6,
    algorithm: "sha1",
    epochTolerance: period,
  });
  return found.valid ? Math.floor(epoch / period) + found.delta : undefined;
}

function plain(text: string): string {
  return text.replaceAll(/[:\p{Cc}]/gu, "").trim();
}
