/** A key that may have signed the head of a chain. */
export interface ProofKey {
  /** Whether `signature` (base64url) is this key's signature of a text. */
  verify(signature: string, text: string): Promise<boolean>;
}

/** The members of a JWK that are read (RFC 7517). */
interface Jwk {
  kid?: unknown;
  kty?: string;
  crv?: string;
  x?: string;
  n?: string;
  e?: string;
}

const ALGORITHMS = {
  OKP: { name: "Ed25519" },
  RSA: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
} as const;

/**
 * The keys of a JWK Set (RFC 7517) by `kid`.
 * @throws {Error} when it is no JWK Set, or a key of it cannot be read
 */
export async function keysOf(jwks: unknown): Promise<Map<string, ProofKey>> {
  const { keys } = (jwks ?? {}) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error("the key set is not a JWK Set: it has no keys");
  const known = new Map<string, ProofKey>();
  for (const jwk of keys as Jwk[]) if (typeof jwk.kid === "string") known.set(jwk.kid, await importKey(jwk));
  return known;
}

async function importKey({ kty, crv, x, n, e }: Jwk): Promise<ProofKey> {
  const algorithm = kty === "RSA" ? ALGORITHMS.RSA : ALGORITHMS.OKP;
  // Of the other members, `use` and `key_ops` would only restrict what is done here.
  const members = { kty: kty ?? "", crv: crv ?? "", x: x ?? "", n: n ?? "", e: e ?? "" };
  const key = await crypto.subtle.importKey("jwk", members, algorithm, false, ["verify"]);
  return {
    verify: (signature, text) =>
      crypto.subtle.verify(algorithm, key, bytesOf(signature), new TextEncoder().encode(text)),
  };
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
