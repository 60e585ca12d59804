import { crc32 } from "node:zlib";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Random } from "../../platform/random.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 43 characters of 62 carry 256 bits. */
const SECRET_LENGTH = 43;

/** A secret for a person to copy: `<kind>_<id>_<secret>_<checksum>`; the checksum lets scanners tell it from noise. */
export interface NewSecret {
  text: string;
  /** SHA-256 of the text: all that is stored of it. */
  hash: Buffer;
  /** What is shown of it later. */
  prefix: string;
  last4: string;
}

function base62(random: Pick<Random, "int">, length: number): string {
  return Array.from({ length }, () => ALPHABET[random.int(0, ALPHABET.length)]).join("");
}

function checksum(text: string): string {
  let value = crc32(text);
  let digits = "";
  for (let place = 0; place < 6; place++) {
    digits = `${ALPHABET[value % 62] ?? "0"}${digits}`;
    value = Math.floor(value / 62);
  }
  return digits;
}

/** Makes a secret of a kind (`atr_live`, `scim_live`, …) under an id. */
export function newSecret(random: Pick<Random, "int">, kind: string, id: string): NewSecret {
  const body = `${kind}_${id}_${base62(random, SECRET_LENGTH)}`;
  const text = `${body}_${checksum(body)}`;
  return { text, hash: hashToken(text), prefix: `${kind}_${id.slice(0, 8)}`, last4: text.slice(-4) };
}

const FORM = /^(atr|aut|scim)_[a-z]+_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;

/** First part of a secret: API key, automation token or SCIM token. */
export type SecretKind = "atr" | "aut" | "scim";

/** The kind and id in a secret; undefined for what cannot be one, which costs no look-up. */
export function readSecret(text: string): { kind: SecretKind; id: string } | undefined {
  const found = FORM.exec(text);
  if (found === null || checksum(text.slice(0, -7)) !== text.slice(-6)) return undefined;
  return { kind: found[1] as SecretKind, id: found[2] as string };
}
