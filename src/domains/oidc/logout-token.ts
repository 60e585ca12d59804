import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import type { Clock } from "../../platform/clock.ts";
import type { Connection } from "./connection-store.ts";
import type { Documents } from "./documents.ts";
import { ProviderFault } from "./discovery.ts";
import { isIssuerOf } from "./rules.ts";

/** Whom a logout token ends: the person `subject` at the provider, their session `sid` there, or both. */
export interface Logout {
  jti: string;
  subject: string | null;
  sid: string | null;
}

/** The logout token does not verify; the message is for the log. */
export class LogoutTokenError extends Error {}

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
const TOLERANCE_S = 300;
const MAX_LENGTH = 255;

type Claims = Readonly<Record<string, unknown>>;

/**
 * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0 §2.6). What can be refused without the provider's
 * keys is, so that nobody makes the service call a provider by sending it anything.
 * @throws LogoutTokenError when it does not verify
 * @throws ProviderFault when the provider's keys cannot be had
 */
export async function verifyLogoutToken(
  { documents, clock }: { documents: Documents; clock: Clock },
  connection: Connection,
  token: string,
): Promise<Logout> {
  try {
    const { kid, typ } = decodeProtectedHeader(token);
    demandType(typ);
    demandClaims(decodeJwt(token), connection, clock.now());
    const document = await documents.discovery(connection);
    const keys = JSON.parse(await documents.keys(connection, document.jwks_uri, kid)) as JSONWebKeySet;
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
      algorithms: document.id_token_signing_alg_values_supported ?? [],
      issuer: document.issuer,
      audience: connection.clientId,
      currentDate: new Date(clock.now()),
      clockTolerance: TOLERANCE_S,
    });
    return demandClaims(payload, connection, clock.now());
  } catch (cause) {
    if (cause instanceof ProviderFault || cause instanceof LogoutTokenError) throw cause;
    throw new LogoutTokenError("the token is no JWT that the provider signed", { cause });
  }
}

function demand(isRight: boolean, what: string): void {
  if (!isRight) throw new LogoutTokenError(what);
}

/** A token that says what it is has to be a logout token; some providers say only that it is a JWT. */
function demandType(typ: unknown): void {
  const isLogout = typ === undefined || (typeof typ === "string" && /^(?:application\/)?(?:logout\+)?jwt$/iu.test(typ));
  demand(isLogout, "typ is that of another token");
}

function demandClaims(claims: Claims, { discoveryUrl, clientId }: Connection, now: number): Logout {
  const { iss, aud, iat, jti, events, sub, sid } = claims;
  demand(isIssuerOf(discoveryUrl, iss), "iss is not the provider");
  demand(aud === clientId || (Array.isArray(aud) && aud.includes(clientId)), "aud is another client");
  demand(typeof iat === "number" && Math.abs(iat - now / 1000) <= TOLERANCE_S, "it was not issued now");
  demand(!("nonce" in claims), "it has a nonce, as ID tokens do");
  const event = isObject(events) ? events[EVENT] : undefined;
  demand(isObject(event), "events names no logout");
  const logout = { jti: textOf(jti, "jti"), subject: textOf(sub, "sub"), sid: textOf(sid, "sid") };
  demand(logout.subject !== null || logout.sid !== null, "it has neither sub nor sid");
  if (logout.jti === null) throw new LogoutTokenError("it has no jti");
  return { ...logout, jti: logout.jti };
}

function isObject(value: unknown): value is Claims {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text of a claim; null when it is absent. */
function textOf(value: unknown, name: string): string | null {
  if (value === undefined) return null;
  const isText = typeof value === "string" && value.isWellFormed() && !value.includes("\0");
  if (!isText || value === "" || value.length > MAX_LENGTH)
    throw new LogoutTokenError(`${name} is no text of at most ${MAX_LENGTH} characters`);
  return value;
}
