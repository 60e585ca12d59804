import { sign, verify } from "node:crypto";
import { promisify } from "node:util";
import { jwsAlgorithms } from "./jwk.ts";
import type { SigningKey, VerificationKey } from "./jwk.ts";

const signOffLoop = promisify(sign) as (
  algorithm: string,
  data: Buffer,
  key: SigningKey["privateKey"],
) => Promise<Buffer>;

/** Longest token that is looked at, in characters. */
export const maxTokenLength = 8192;

/** The claims set of a JWT (RFC 7519). */
export type JwtClaims = Record<string, unknown>;

/** Claims of a token that was verified: these three are known to be there and right. */
export type VerifiedClaims = JwtClaims & { iss: string; exp: number; jti: string };

/**
 * A compact JWS (RFC 7515) over `claims` with the header `alg`, `typ`, `kid` and nothing else.
 * RSA signs off the event loop. The caller sets every claim, `iss`, `exp` and `jti` included.
 */
export async function signJwt(key: SigningKey, typ: string, claims: JwtClaims): Promise<string> {
  const header = { alg: jwsAlgorithms[key.algorithm], typ, kid: key.kid };
  const input = `${encode(header)}.${encode(claims)}`;
  const data = Buffer.from(input, "ascii");
  const signature =
    key.algorithm === "ed25519" ? sign(null, data, key.privateKey) : await signOffLoop("sha256", data, key.privateKey);
  return `${input}.${signature.toString("base64url")}`;
}

/** What a token must be to be taken. */
export interface JwtExpectation {
  /** Header `typ`, exactly. */
  typ: string;
  /** Claim `iss`, exactly. */
  issuer: string;
  /** Present time in milliseconds; `exp` gets no leeway. */
  now: number;
}

/** Finds the key record by `kid` and, for keys that belong to somebody, by a claim not yet verified. */
export type KeyResolver = (
  kid: string,
  unverified: Readonly<JwtClaims>,
) => Promise<VerificationKey | undefined> | VerificationKey | undefined;

/**
 * The claims of a token this service signed, or undefined: there is one kind of failure.
 * Takes only what `signJwt` makes: header of exactly `alg`, `typ`, `kid` (a thumbprint), algorithm that of the key
 * record, canonical base64url, `iss` as expected, `exp` in the future, `jti` present, at most 8 KiB.
 * What `resolveKey` throws passes through (the store may be away).
 */
export async function verifyJwt(
  token: string,
  resolveKey: KeyResolver,
  expected: JwtExpectation,
): Promise<VerifiedClaims | undefined> {
  const parsed = parse(token);
  if (parsed === undefined || parsed.header.typ !== expected.typ || !timely(parsed.claims, expected)) return undefined;
  const { header, claims, data, signature } = parsed;
  const key = await resolveKey(header.kid, claims);
  if (key === undefined || key.kid !== header.kid || header.alg !== jwsAlgorithms[key.algorithm]) return undefined;
  if (!verify(key.algorithm === "ed25519" ? null : "sha256", data, key.publicKey, signature)) return undefined;
  return claims as VerifiedClaims;
}

/** What `kid` is (RFC 7638, SHA-256); no other text reaches the store, which may choke on it (NUL). */
const thumbprint = /^[\w-]{43}$/;

interface ParsedToken {
  header: { alg: string; typ: string; kid: string };
  claims: JwtClaims;
  data: Buffer;
  signature: Buffer;
}

function parse(token: string): ParsedToken | undefined {
  if (token.length > maxTokenLength) return undefined;
  const parts = token.split(".", 4);
  const [head, body, tail] = parts;
  if (parts.length !== 3 || head === undefined || body === undefined || tail === undefined) return undefined;
  const header = decodeObject(head);
  const claims = decodeObject(body);
  const signature = decode(tail);
  if (header === undefined || claims === undefined || signature === undefined) return undefined;
  const { alg, typ, kid, ...rest } = header;
  if (typeof alg !== "string" || typeof typ !== "string" || typeof kid !== "string" || Object.keys(rest).length > 0)
    return undefined;
  if (!thumbprint.test(kid)) return undefined;
  return {
    header: { alg, typ, kid },
    claims,
    signature,
    data: Buffer.from(token.slice(0, head.length + 1 + body.length), "ascii"),
  };
}

function timely({ iss, exp, nbf, jti }: JwtClaims, { issuer, now }: JwtExpectation): boolean {
  if (iss !== issuer || typeof jti !== "string" || jti === "") return false;
  if (typeof exp !== "number" || !Number.isFinite(exp) || exp * 1000 <= now) return false;
  return nbf === undefined || (typeof nbf === "number" && nbf * 1000 <= now);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
}

/** base64url without padding in its one canonical spelling. */
function decode(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, "base64url");
  return bytes.length > 0 && bytes.toString("base64url") === part ? bytes : undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeObject(part: string): JwtClaims | undefined {
  const bytes = decode(part);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JwtClaims) : undefined;
  } catch {
    return undefined;
  }
}
