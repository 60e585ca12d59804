import { createPublicKey } from "node:crypto";

type Given = Readonly<Record<string, unknown>>;

/** What a sign-in uses, by the list that may name it; a list that is absent includes it or says nothing. */
const USED: Readonly<Record<string, string>> = {
  response_types_supported: "code",
  response_modes_supported: "query",
  grant_types_supported: "authorization_code",
};

/** What a provider can demand of every client and a sign-in does not do (RFC 9126 §5, RFC 9101 §10.5). */
const DEMANDS: Readonly<Record<string, string>> = {
  require_pushed_authorization_requests: "pushed authorization requests",
  require_signed_request_object: "signed request objects",
};

/** Why a provider cannot be signed in through, as its discovery document has it. */
export function obstaclesOf(given: Given): string[] {
  const missing = Object.entries(USED).flatMap(([list, used]) => {
    const named = given[list];
    return Array.isArray(named) && !named.includes(used)
      ? [`The document names ${list} without ${used}, which every sign-in uses.`]
      : [];
  });
  const demanded = Object.entries(DEMANDS).flatMap(([name, what]) =>
    given[name] === true ? [`The provider demands ${what} (${name}), which sign-ins do not use.`] : [],
  );
  return [...missing, ...demanded];
}

const CURVES: Readonly<Record<string, string>> = {
  ES256: "P-256",
  ES384: "P-384",
  ES512: "P-521",
  EdDSA: "Ed25519",
  Ed25519: "Ed25519",
};
const KTY: Readonly<Record<string, string>> = { RS: "RSA", PS: "RSA", ES: "EC", Ed: "OKP" };
const MIN_RSA_BITS = 2_048;

/** Whether ID tokens that are signed by one of these algorithms can be verified with a key of a key set. */
export function verifiesSignatures(key: Given, algorithms: readonly string[]): boolean {
  const { kty, crv, alg, use, key_ops: operations } = key;
  if (use !== undefined && use !== "sig") return false;
  if (Array.isArray(operations) && !operations.includes("verify")) return false;
  const isFor = (one: string): boolean =>
    KTY[one.slice(0, 2)] === kty && (alg === undefined || alg === one) && (kty === "RSA" || CURVES[one] === crv);
  if (!algorithms.some(isFor)) return false;
  try {
    const { modulusLength } = createPublicKey({ key, format: "jwk" }).asymmetricKeyDetails ?? {};
    return kty !== "RSA" || (modulusLength ?? 0) >= MIN_RSA_BITS;
  } catch {
    return false;
  }
}
