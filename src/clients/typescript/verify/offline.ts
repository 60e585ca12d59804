import { compactVerify, decodeJwt, decodeProtectedHeader } from "../bundled/jose.ts";
import { Lru } from "../lru.ts";
import { callerOf } from "./caller.ts";
import type { Caller, Claims } from "./caller.ts";
import type { KeySets } from "./key-sets.ts";
import { unauthorized } from "./refusal.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;
const MAX_TOKEN_LENGTH = 16_384;
const MAX_TOKENS = 10_000;
/** One for each key. */
const MAX_HEADERS = 1_000;
/** A token is verified again after this time, so that one of a key that was withdrawn ends with its key set. */
const VERIFIED_MS = 300_000;
/** A token from further in the future shows that a clock is wrong. */
const AHEAD_MS = 60_000;

export interface OfflineRules {
  issuer: string;
  orgs: ReadonlySet<string> | undefined;
  maxAgeMs: number | undefined;
}

interface Verified {
  caller: Caller;
  untilMs: number;
}

/** What the header of a token says, as far as it matters. */
interface Header {
  kid: string;
  alg: unknown;
}

/** Verifies access tokens with the keys of their organizations. @throws TokenRefusal */
export function createOffline({ issuer, orgs, maxAgeMs }: OfflineRules, keys: KeySets) {
  const seen = new Lru<string, Verified>(MAX_TOKENS);
  const headers = new Lru<string, Header>(MAX_HEADERS);

  return (token: string): Caller | Promise<Caller> => {
    const known = seen.get(token);
    const nowMs = Date.now();
    if (known !== undefined && nowMs < known.untilMs) return known.caller;
    if (known !== undefined) seen.delete(token);
    return verify(token);
  };

  async function verify(token: string): Promise<Caller> {
    if (token.length > MAX_TOKEN_LENGTH) throw unauthorized("The token is too long.");
    // All tokens of a key have the same header.
    const encodedHeader = token.slice(0, Math.max(0, token.indexOf(".")));
    const read = headers.get(encodedHeader);
    const { kid, alg } = read ?? headerOf(token);
    const claims = claimsOf(token);
    const key = await keys.find(orgOf(claims), kid);
    if (key === undefined) throw unauthorized("The token is signed by a key that its organization does not publish.");
    if (alg !== key.alg) throw unauthorized("The token is not valid.");
    try {
      await compactVerify(token, key.key);
    } catch (error) {
      throw unauthorized("The token is not valid.", error);
    }
    const nowMs = Date.now();
    const expMs = endOf(claims, nowMs);
    const caller = callerOf(token, claims);
    if (read === undefined) headers.set(encodedHeader, { kid, alg });
    seen.set(token, { caller, untilMs: Math.min(expMs, nowMs + VERIFIED_MS) });
    return caller;
  }

  /** Whose keys verify a token: judged before a URL is made of it. */
  function orgOf({ iss, org }: Claims): string {
    if (iss !== issuer) throw unauthorized("The token comes from another issuer.");
    if (typeof org !== "string" || !UUID.test(org)) throw unauthorized("The token names no organization.");
    if (orgs?.has(org) === false) throw unauthorized("The token is of an organization that is not served here.");
    return org;
  }

  /** Until when the claims of a token hold. */
  function endOf({ exp, iat, nbf, jti, sub }: Claims, nowMs: number): number {
    if (!isNumber(exp) || !isNumber(iat) || typeof jti !== "string" || typeof sub !== "string")
      throw unauthorized("The token lacks a claim.");
    if (nowMs >= exp * 1_000) {
      const seconds = Math.round(nowMs / 1_000 - exp);
      throw unauthorized(`The token expired ${seconds} seconds ago by the clock of this machine.`);
    }
    const earliestMs = iat * 1_000;
    if (earliestMs - nowMs > AHEAD_MS) throw unauthorized(`The token was issued ${ahead(earliestMs - nowMs)}.`);
    if (nbf !== undefined && !(isNumber(nbf) && nbf <= nowMs / 1_000))
      throw unauthorized("The token is not valid yet.");
    const endMs = Math.min(exp * 1_000, maxAgeMs === undefined ? Infinity : earliestMs + maxAgeMs);
    if (nowMs >= endMs) throw unauthorized("The token is older than this service accepts; refresh it.");
    return endMs;
  }
}

function headerOf(token: string): Header {
  let header: ReturnType<typeof decodeProtectedHeader>;
  try {
    header = decodeProtectedHeader(token);
  } catch (error) {
    throw unauthorized("The token is not a JWT.", error);
  }
  const { typ, kid, alg } = header;
  if (typ !== "at+jwt") throw unauthorized("The token is not an access token.");
  if (typeof kid !== "string") throw unauthorized("The token names no key.");
  // With the extension "b64", the claims would not be encoded.
  if ("crit" in header) throw unauthorized("The token is not valid.");
  return { kid, alg };
}

function claimsOf(token: string): Claims {
  try {
    return decodeJwt(token);
  } catch (error) {
    throw unauthorized("The token is not a JWT.", error);
  }
}

const isNumber = (value: unknown): value is number => typeof value === "number";

const ahead = (ms: number): string =>
  `${Math.round(ms / 1_000)} seconds in the future; check the clock of this machine`;
