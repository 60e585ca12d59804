/**
 * Signing and verification of JWTs. Verification does not use `jose`: besides the Ed25519 verification itself its
 * `jwtVerify` costs about 30 us of CPU per token, through Web Crypto and its promises, and the code here 6. With it
 * the row `new-tokens` of `npm run bench` would be below its target.
 */
import { sign } from "node:crypto";
import { promisify } from "node:util";
import { createLru } from "../lru.ts";
import { isSignatureOf, jwsAlgorithms } from "./jwk.ts";
import type { SigningKey, VerificationKey } from "./jwk.ts";

const signOffLoop = promisify(sign) as (
  algorithm: string,
  data: Buffer,
  key: SigningKey["privateKey"],
) => Promise<Buffer>;

/** Maximum length of a token: with it, a header field stays below the 8 KiB that many proxies allow. */
export const MAX_TOKEN_LENGTH = 8192;
/** Number of parsed headers that are cached: one per key. */
const MAX_CACHED_HEADERS = 4096;
/** Longer headers than those of `signJwt` are not cached. */
const MAX_CACHED_HEADER_LENGTH = 200;

/** The claims set of a JWT (RFC 7519). */
export type JwtClaims = Record<string, unknown>;

/** Claims of a verified token: these three are present and valid. */
export type VerifiedClaims = JwtClaims & { iss: string; exp: number; jti: string };

/**
 * Returns a compact JWS (RFC 7515) over `claims` with the header `alg`, `typ`, `kid` and nothing else.
 * RSA signs in the thread pool. The caller sets every claim, `iss`, `exp` and `jti` included.
 */
export async function signJwt(key: SigningKey, typ: string, claims: JwtClaims): Promise<string> {
  const header = { alg: jwsAlgorithms[key.algorithm], typ, kid: key.kid };
  const input = `${encode(header)}.${encode(claims)}`;
  const data = Buffer.from(input, "ascii");
  const signature =
    key.algorithm === "ed25519" ? sign(null, data, key.privateKey) : await signOffLoop("sha256", data, key.privateKey);
  return `${input}.${signature.toString("base64url")}`;
}

/** Conditions a token must meet. */
export interface JwtExpectation {
  /** Header `typ`, exactly. */
  typ: string;
  /** Claim `iss`, exactly. */
  issuer: string;
  /** Present time in milliseconds; `exp` gets no leeway. */
  now: number;
}

/** Returns the key record of a `kid` and, for keys of an organization, of a claim that is not verified yet. */
export type KeyResolver = (
  kid: string,
  unverified: Readonly<JwtClaims>,
) => Promise<VerificationKey | undefined> | VerificationKey | undefined;

/**
 * Returns the claims of a token that this service signed; undefined for every other token, whatever is wrong with it.
 * Accepts only what `signJwt` makes: a header of exactly `alg`, `typ` and `kid` (a thumbprint), the algorithm of the
 * key record, canonical base64url, `iss` as expected, `exp` in the future, `jti` present, at most 8 KiB.
 * @throws whatever `resolveKey` throws
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
  if (!isSignatureOf(key, data, signature)) return undefined;
  return claims as VerifiedClaims;
}

/** Form of a `kid` (RFC 7638, SHA-256). No other text may reach the store: PostgreSQL refuses NUL characters. */
const thumbprint = /^[\w-]{43}$/;

interface Header {
  readonly alg: string;
  readonly typ: string;
  readonly kid: string;
}

interface ParsedToken {
  header: Header;
  claims: JwtClaims;
  data: Buffer;
  signature: Buffer;
}

function parse(token: string): ParsedToken | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return undefined;
  const parts = token.split(".", 4);
  const [head, body, tail] = parts;
  if (parts.length !== 3 || head === undefined || body === undefined || tail === undefined) return undefined;
  const header = headerOf(head);
  if (header === undefined) return undefined;
  const claims = decodeObject(body);
  const signature = decode(tail);
  if (claims === undefined || signature === undefined) return undefined;
  return { header, claims, signature, data: Buffer.from(token.slice(0, head.length + 1 + body.length), "latin1") };
}

/** Valid headers by their text: tokens of one key share theirs. */
const headers = createLru<Header>(MAX_CACHED_HEADERS);

function headerOf(text: string): Header | undefined {
  const known = headers.get(text);
  if (known !== undefined) return known;
  const decoded = decodeObject(text);
  if (decoded === undefined) return undefined;
  const { alg, typ, kid, ...rest } = decoded;
  if (typeof alg !== "string" || typeof typ !== "string" || typeof kid !== "string" || Object.keys(rest).length > 0)
    return undefined;
  if (!thumbprint.test(kid)) return undefined;
  const header: Header = { alg, typ, kid };
  if (text.length <= MAX_CACHED_HEADER_LENGTH) headers.set(text, header);
  return header;
}

function timely({ iss, exp, nbf, jti }: JwtClaims, { issuer, now }: JwtExpectation): boolean {
  if (iss !== issuer || typeof jti !== "string" || jti === "") return false;
  if (typeof exp !== "number" || !Number.isFinite(exp) || exp * 1000 <= now) return false;
  return nbf === undefined || (typeof nbf === "number" && nbf * 1000 <= now);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
}

/** Decodes base64url without padding; undefined unless it is in its canonical form. */
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
