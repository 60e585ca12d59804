import type { KeyAlgorithm } from "../../platform/crypto/jwk.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import type { KeyRow } from "./manage-store.ts";

/** Maximum valid keys of an organization (decisions 6.1). */
export const MAX_KEYS = 10;
/** Longest and default lifetime of a signed payload, seconds (decisions 6.3). */
const MAX_SECONDS = 24 * 3600;
const DEFAULT_SECONDS = 15 * 60;

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

/** The keys that are valid at a time. */
export function validAt(keys: readonly KeyRow[], at: Date): KeyRow[] {
  return keys.filter(({ validUntil }) => validUntil === null || validUntil > at);
}

/** End of the overlap of a rotation that is in progress: a key it replaced is among the valid ones. */
export function rotatingUntil(valid: readonly KeyRow[]): Date | undefined {
  const ends = valid.flatMap(({ rotation, validUntil }) => (rotation && validUntil !== null ? [validUntil] : []));
  return ends.sort((one, other) => other.getTime() - one.getTime())[0];
}

/** Returns the `exp` of a payload to sign, in seconds, or the violations that refuse it. */
export function readPayload(
  payload: Readonly<Record<string, unknown>>,
  nowSeconds: number,
): { exp: number } | { violations: FieldViolation[] } {
  const violations: FieldViolation[] = RESERVED.filter((claim) => Object.hasOwn(payload, claim)).map((claim) => ({
    field: `payload.${claim}`,
    code: "reserved",
    message: "This claim is set by the service.",
  }));
  const exp = payload["exp"] ?? nowSeconds + DEFAULT_SECONDS;
  if (typeof exp !== "number" || !Number.isInteger(exp) || exp <= nowSeconds || exp > nowSeconds + MAX_SECONDS) {
    violations.push({
      field: "payload.exp",
      code: "range",
      message: "Seconds since the epoch, in the future, at most 24 hours ahead.",
    });
  }
  const inexact = inexactIn(payload, "payload");
  if (inexact !== undefined && inexact !== "payload.exp")
    violations.push({
      field: inexact,
      code: "range",
      message: "An integer beyond 2^53 - 1 loses digits in JSON; send it as a string.",
    });
  return violations.length > 0 ? { violations } : { exp: exp as number };
}

/** Returns the path of the first integer in a value that JSON numbers may have rounded. */
function inexactIn(value: unknown, path: string): string | undefined {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? path : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const found = inexactIn(member, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
