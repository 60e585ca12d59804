import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from "jose";
import type { JWTPayload } from "jose";
import { Lru } from "../lru.ts";
import { callerOf } from "./caller.ts";
import type { Caller } from "./caller.ts";
import type { KeySets } from "./key-sets.ts";
import { unauthorized } from "./refusal.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;
const MAX_TOKEN_LENGTH = 16_384;
const MAX_TOKENS = 10_000;
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
  expMs: number;
}

/** Verifies access tokens with the keys of their organizations. @throws TokenRefusal */
export function createOffline({ issuer, orgs, maxAgeMs }: OfflineRules, keys: KeySets) {
  const seen = new Lru<string, Verified>(MAX_TOKENS);

  return (token: string): Caller | Promise<Caller> => {
    const known = seen.get(token);
    const nowMs = Date.now();
    if (known !== undefined && nowMs < known.untilMs) return known.caller;
    if (known !== undefined) seen.delete(token);
    return verify(token);
  };

  async function verify(token: string): Promise<Caller> {
    const { kid, org } = addressOf(token);
    const known = await keys.find(org, kid);
    if (known === undefined) throw unauthorized("The token is signed by a key that its organization does not publish.");
    const { payload } = await jwtVerify(token, known.key, {
      algorithms: [known.alg],
      typ: "at+jwt",
      issuer,
      requiredClaims: ["exp", "iat", "jti", "sub"],
    }).catch((error: unknown) => {
      throw refusalOf(error);
    });
    const nowMs = Date.now();
    const issuedMs = Number(payload.iat) * 1_000;
    if (issuedMs - nowMs > AHEAD_MS) throw unauthorized(`The token was issued ${ahead(issuedMs - nowMs)}.`);
    const expMs = Math.min(Number(payload.exp) * 1_000, maxAgeMs === undefined ? Infinity : issuedMs + maxAgeMs);
    if (nowMs >= expMs) throw unauthorized("The token is older than this service accepts; refresh it.");
    const caller = callerOf(token, payload);
    seen.set(token, { caller, expMs, untilMs: Math.min(expMs, nowMs + VERIFIED_MS) });
    return caller;
  }

  /** Which key verifies the token: the organization is judged before a URL is made of it. */
  function addressOf(token: string): { kid: string; org: string } {
    if (token.length > MAX_TOKEN_LENGTH) throw unauthorized("The token is too long.");
    let header: { typ?: unknown; kid?: unknown };
    let payload: JWTPayload;
    try {
      header = decodeProtectedHeader(token);
      payload = decodeJwt(token);
    } catch (error) {
      throw unauthorized("The token is not a JWT.", error);
    }
    const { org } = payload;
    if (header.typ !== "at+jwt") throw unauthorized("The token is not an access token.");
    if (payload.iss !== issuer) throw unauthorized("The token comes from another issuer.");
    if (typeof header.kid !== "string") throw unauthorized("The token names no key.");
    if (typeof org !== "string" || !UUID.test(org)) throw unauthorized("The token names no organization.");
    if (orgs?.has(org) === false) throw unauthorized("The token is of an organization that is not served here.");
    return { kid: header.kid, org };
  }
}

const ahead = (ms: number): string =>
  `${Math.round(ms / 1_000)} seconds in the future; check the clock of this machine`;

function refusalOf(error: unknown): Error {
  if (error instanceof errors.JWTExpired) {
    const seconds = Math.round(Date.now() / 1_000 - Number(error.payload.exp));
    return unauthorized(`The token expired ${seconds} seconds ago by the clock of this machine.`, error);
  }
  return unauthorized("The token is not valid.", error);
}
