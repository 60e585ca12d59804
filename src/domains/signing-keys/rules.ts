import type { KeyAlgorithm } from "../../platform/crypto/jwk.ts";
import type { FieldViolation } from "../../platform/errors.ts";

/** Keys an organization may have that are valid at the same time (decisions 6.1). */
export const MOST_KEYS = 10;
/** Longest and usual lifetime of what `/sign` signs, seconds (decisions 6.3). */
const MOST_SECONDS = 24 * 3600;
const USUAL_SECONDS = 15 * 60;

const RESERVED: readonly string[] = [
  "iss",
  "iat",
  "jti",
  "org",
  "sid",
  "scope",
  "roles",
  "entitlements",
  "app_admin",
  "platform_admin",
  "sandbox",
  "amr",
  "acr",
  "aud",
];

/** The algorithm of a request; undefined for one that is not supported. */
export function readAlgorithm(algorithm: string): KeyAlgorithm | undefined {
  return algorithm === "ed25519" || algorithm === "rsa4096" ? algorithm : undefined;
}

/** Claims of a payload to sign, with `exp` in seconds; or the fields that cannot be taken. */
export function readPayload(
  payload: Readonly<Record<string, unknown>>,
  nowSeconds: number,
): { exp: number } | { violations: FieldViolation[] } {
  const violations: FieldViolation[] = RESERVED.filter((claim) => Object.hasOwn(payload, claim)).map((claim) => ({
    field: `payload.${claim}`,
    code: "reserved",
    message: "This claim is set by the service.",
  }));
  const exp = payload["exp"] ?? nowSeconds + USUAL_SECONDS;
  if (typeof exp !== "number" || !Number.isInteger(exp) || exp <= nowSeconds || exp > nowSeconds + MOST_SECONDS) {
    violations.push({
      field: "payload.exp",
      code: "range",
      message: "Seconds since the epoch, in the future, at most 24 hours ahead.",
    });
  }
  return violations.length > 0 ? { violations } : { exp: exp as number };
}
